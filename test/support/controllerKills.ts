import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { getControllerSubject } from "../../pkg/rbac/installerManifests.ts";
import { createExtension } from "./extensions.ts";
import { expectGone, expectInstalled, type FaultVersion, faultBundle, faultObjects } from "./faultBundle.ts";
import { isSampled, type KillSample } from "./killSample.ts";
import type { KilledCase, KilledOperation, KillWorld } from "./killWorld.ts";
import { grantInstaller } from "./serviceAccounts.ts";

const VERSIONS: readonly FaultVersion[] = ["1.0.0", "2.0.0"];
const PACKAGE = "p";
const NAME = "killed";
const EXTENSION = createExtension(NAME, { packageName: PACKAGE });
/** Users whose writes are counted: operator-controller's own identity and the installer. */
const USERS = [getControllerSubject(SYSTEM_NAMESPACE).name, `:${getNamespace(EXTENSION)}:${EXTENSION.spec.serviceAccount?.name ?? ""}`];
/** Upper bound of the writes of one operation. */
const MAX_WRITES = 30;

/** Kills operator-controller at the points of the sample, in an install, an upgrade and an uninstall of an extension. @returns the interrupted operations */
export async function killController(world: KillWorld, sample: KillSample): Promise<KilledCase[]> {
  const { managed } = world;
  const { client } = managed;
  await managed.publish(PACKAGE, { [PACKAGE]: VERSIONS.map((version) => ({ version, files: faultBundle(version) })) });
  const objects = VERSIONS.flatMap((version) => faultObjects(version, getNamespace(EXTENSION)));
  await grantInstaller(client, EXTENSION, objects);
  const operations: readonly KilledOperation[] = [
    {
      name: "install",
      run: () => client.create(createExtension(NAME, { packageName: PACKAGE, version: "1.0.0" })),
      expectDone: () => expectInstalled(client, EXTENSION, "1.0.0", ["v1 deployed"]),
    },
    {
      name: "upgrade",
      run: () => managed.edit(NAME, { spec: { source: { catalog: { version: "2.0.0" } } } }),
      expectDone: () => expectInstalled(client, EXTENSION, "2.0.0", ["v1 superseded", "v2 deployed"]),
    },
    {
      name: "uninstall",
      run: () => client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: NAME }),
      expectDone: () => expectGone(client, EXTENSION),
    },
  ];
  const includes: KilledCase["includes"] = ({ user }) => USERS.some((suffix) => user.endsWith(suffix));
  const stopped: KilledCase[] = [];
  for (let writes = 0, any = true; any && writes < MAX_WRITES; writes++) {
    if (!isSampled(sample, writes)) continue;
    any = false;
    for (const operation of operations) {
      const found = await world.killDuring("operator-controller", [{ writes, operation, includes }]);
      stopped.push(...found);
      any ||= found.length > 0;
    }
  }
  return stopped;
}
