local spec = obj.spec or {}
local plan = (obj.status or {}).plan or {}
local approved = (obj.metadata.annotations or {})["olm.operatorframework.io/approve"]
local isSuspended = spec.suspend == true

local actions = {}
actions["reconcile"] = { disabled = isSuspended, displayName = "Compare all objects", iconClass = "fa fa-fw fa-sync" }
actions["suspend"] = { disabled = isSuspended, displayName = "Suspend", iconClass = "fa fa-fw fa-pause" }
actions["resume"] = { disabled = not isSuspended, displayName = "Resume", iconClass = "fa fa-fw fa-play" }
actions["approve"] = {
  disabled = plan.digest == nil or plan.digest == approved,
  displayName = "Approve plan",
  iconClass = "fa fa-fw fa-check",
}
return actions
