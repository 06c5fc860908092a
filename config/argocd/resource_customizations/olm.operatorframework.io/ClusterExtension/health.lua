-- Health of a ClusterExtension. Uses only the base library, because Argo CD loads few others for scripts in argocd-cm.
local status = obj.status or {}

local function find(type)
  for _, condition in ipairs(status.conditions or {}) do
    if condition.type == type then
      return condition
    end
  end
  return {}
end

-- Errors that operator-controller retries, but that only a user can remove.
local lasting = { CRDUpgradeUnsafe = true, KindConflict = true, ObjectConflict = true, PermissionsDenied = true, RolledBack = true }
local isLasting = false
local needsApproval = false
for _, problem in ipairs(status.problems or {}) do
  if problem.severity == "Error" then
    isLasting = isLasting or lasting[problem.type] == true
    needsApproval = needsApproval or problem.type == "PermissionsPending"
  end
end

local ready = find("Ready")
if obj.metadata.deletionTimestamp ~= nil then
  local reason = find("Progressing").message
  return { status = "Progressing", message = reason and ("Pending deletion: " .. reason) or "Pending deletion" }
end
if ready.status == nil or ready.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "Waiting for operator-controller" }
end
if ready.status == "True" then
  return { status = "Healthy", message = ready.message }
end
-- A user must resume the extension, or approve a plan or permissions.
if ready.reason == "Suspended" or ready.reason == "AwaitingApproval" or needsApproval then
  return { status = "Suspended", message = ready.message }
end
if find("Stalled").status == "True" or ready.reason == "Unhealthy" or isLasting then
  return { status = "Degraded", message = ready.message }
end
return { status = "Progressing", message = ready.message }
