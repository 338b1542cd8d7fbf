// A library of matrix products for tests: with the calling convention and the name of those that systems have.
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc) {
  if (order != 101 || trans_a != 111 || trans_b != 112) return;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int e = k - 1; e >= 0; --e) sum += a[(long)i * lda + e] * b[(long)j * ldb + e];
      float *to = &c[(long)i * ldc + j];
      *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
    }
  }
}
