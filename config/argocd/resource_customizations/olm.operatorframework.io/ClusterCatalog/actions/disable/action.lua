obj.spec.availabilityMode = "Unavailable"
return obj
