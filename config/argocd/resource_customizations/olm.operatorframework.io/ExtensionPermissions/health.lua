-- Health of an ExtensionPermissions. Uses only the base library, because Argo CD loads few others for scripts in argocd-cm.
local status = obj.status or {}
local granted = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Granted" then
    granted = condition
  end
end

if obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = "Pending deletion" }
end
if granted.status == nil or granted.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "Waiting for permission-manager" }
end
if granted.status == "True" then
  return { status = "Healthy", message = granted.message }
end
if granted.reason == "Pending" then
  return { status = "Suspended", message = granted.message }
end
if granted.reason == "Denied" then
  return { status = "Degraded", message = granted.message }
end
return { status = "Progressing", message = granted.message }
