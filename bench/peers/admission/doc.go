// Package admission.
package admission
