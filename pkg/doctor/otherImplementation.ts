import type { KubeObject } from "../api/k8s.ts";
import { listSchemaFields } from "../kube/servedFields.ts";
import type { ClusterSnapshot, DoctorFinding, ProgramSnapshot } from "./clusterSnapshot.ts";
import { checkApiServer, checkCatalogs, getDefinitionSchema } from "./installation.ts";
import { checkDeployments, checkLeases, listServerImages } from "./programs.ts";

const EXTENSIONS = "clusterextensions.olm.operatorframework.io";
const PERMISSIONS = "extensionpermissions.olm.operatorframework.io";
/** Fields that every version of olmv1 has, and no other implementation. */
const OWN_FIELDS = ["spec.suspend", "spec.uninstall", "status.inventory"];

/** Whether the cluster has another implementation of OLM v1, such as the Go one: its CustomResourceDefinitions, and none of those of olmv1. */
export function isOtherImplementation({ definitions }: Pick<ClusterSnapshot, "definitions">): boolean {
  const [extensions, permissions] = [findDefinition(definitions, EXTENSIONS), findDefinition(definitions, PERMISSIONS)];
  if (!extensions || permissions !== undefined) return false;
  const fields = new Set(listSchemaFields(getDefinitionSchema(extensions)));
  return !OWN_FIELDS.some((field) => fields.has(field));
}

/** Returns the CustomResourceDefinition; undefined if it does not exist, null if the user may not read it. */
function findDefinition(definitions: ClusterSnapshot["definitions"], name: string): KubeObject | undefined | null {
  const part = definitions.get(name);
  return part && "refused" in part ? null : part?.value;
}

/** Returns the findings about another implementation: only those of checks that do not depend on what olmv1 installs. */
export function collectOtherFindings(snapshot: ClusterSnapshot): DoctorFinding[] {
  const programs = snapshot.programs.filter(({ program }) => program !== "permission-manager");
  const isAbsent = ({ deployment }: ProgramSnapshot): boolean => "value" in deployment && deployment.value === undefined;
  const found = { ...snapshot, programs: programs.filter((one) => !isAbsent(one)) };
  return [
    ...checkApiServer(snapshot),
    describeImplementation(found),
    ...programs.filter(isAbsent).map(describeAbsent),
    ...checkDeployments(found),
    ...checkLeases(found),
    ...checkCatalogs(snapshot),
  ];
}

function describeAbsent({ program, namespace }: ProgramSnapshot): DoctorFinding {
  return {
    check: `Deployment ${program}-controller-manager`,
    status: "warning",
    message: `it does not exist in namespace ${namespace}`,
    next: "set its namespace with --system-namespace",
  };
}

function describeImplementation({ programs }: Pick<ClusterSnapshot, "programs">): DoctorFinding {
  const images = listServerImages(programs);
  const servers = images.length > 0 ? `: its servers run ${images.join(" and ")}` : "";
  return {
    check: "implementation",
    status: "ok",
    message: `another implementation of OLM v1 is installed${servers}; what only olmv1 has is not checked`,
  };
}
