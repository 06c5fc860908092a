-- Health of a ClusterCatalog. Uses only the base library, because Argo CD loads few others for scripts in argocd-cm.
local status = obj.status or {}

local function find(type)
  for _, condition in ipairs(status.conditions or {}) do
    if condition.type == type then
      return condition
    end
  end
  return {}
end

local ready = find("Ready")
if obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = "Pending deletion" }
end
if ready.status == nil or ready.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "Waiting for catalogd" }
end
if ready.reason == "UserSpecifiedUnavailable" then
  return { status = "Suspended", message = ready.message }
end
if ready.status == "True" then
  -- Packages without errors can be installed.
  local flaw = find("Valid").status == "False" and ". The content has errors: see condition Valid" or ""
  return { status = "Healthy", message = ready.message .. flaw }
end
if find("Stalled").status == "True" then
  return { status = "Degraded", message = ready.message }
end
return { status = "Progressing", message = ready.message }
