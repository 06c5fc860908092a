local digest = (obj.status or {}).pendingDigest
local approved = (obj.metadata.annotations or {})["olm.operatorframework.io/approve"]

local actions = {}
actions["approve"] = {
  disabled = digest == nil or digest == approved,
  displayName = "Approve permissions",
  iconClass = "fa fa-fw fa-check",
}
return actions
