package main

import (
	"mla/runtime/device/cuda"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/patient"
)

// patients holds the functions that open a device for examination, by kind.
var patients = map[string]func(f *doctorFlags) (*patient.Patient, error){"auto": defaultPatient, "cpu": cpuPatient, "cuda": cudaPatient, "metal": metalPatient}

// defaultPatient is an NVIDIA GPU if there is one, else the CPU. It is not used where Metal exists.
func defaultPatient(f *doctorFlags) (*patient.Patient, error) {
	p, err := cudaPatient(f)
	if cuda.Absent(err) {
		return cpuPatient(f)
	}
	return p, err
}

func cpuPatient(*doctorFlags) (*patient.Patient, error) { return patient.CPU(), nil }

func cudaPatient(f *doctorFlags) (*patient.Patient, error) {
	d, err := cuda.Open(cudaOptions(f.flags))
	if err != nil {
		return nil, err
	}
	return patient.CUDA(d, f.finder().HasPTX), nil
}

func metalPatient(f *doctorFlags) (*patient.Patient, error) {
	d, err := metal.Open(metalOptions(f.flags))
	if err != nil {
		return nil, err
	}
	return patient.Metal(d, f.metalLib), nil
}
