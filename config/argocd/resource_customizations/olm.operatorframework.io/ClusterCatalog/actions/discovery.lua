local isDisabled = (obj.spec or {}).availabilityMode == "Unavailable"

local actions = {}
actions["disable"] = { disabled = isDisabled, displayName = "Disable", iconClass = "fa fa-fw fa-pause" }
actions["enable"] = { disabled = not isDisabled, displayName = "Enable", iconClass = "fa fa-fw fa-play" }
return actions
