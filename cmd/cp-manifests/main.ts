#!/nodejs/bin/node
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";

/** Folder of the image with the chart, and with its values for OpenShift. */
const SOURCE = "/config/helm";
/** The components that cluster-olm-operator renders, each with its own values. Both use this image. */
const COMPONENTS = ["catalogd", "operator-controller"];

/**
 * Copies the chart and its values to where cluster-olm-operator reads them, and replaces files of an earlier run. The init containers of
 * cluster-olm-operator run this program in both images, `/cp-manifests /operand-assets`.
 * @see https://github.com/openshift/operator-framework-operator-controller/blob/186c9e64/openshift/catalogd/cp-manifests
 */
async function copyManifests(source: string, destination: string): Promise<void> {
  for (const component of COMPONENTS) {
    const folder = join(destination, "helm", component);
    await rm(folder, { recursive: true, force: true });
    await cp(join(source, "olmv1"), join(folder, "olmv1"), { recursive: true });
    await cp(join(source, "openshift", `${component}.yaml`), join(folder, "openshift.yaml"));
    await cp(join(source, "openshift/experimental.yaml"), join(folder, "experimental.yaml"));
  }
}

const [destination, source = SOURCE] = process.argv.slice(2);
if (destination === undefined || destination === "") {
  process.stderr.write("cp-manifests: no destination folder. Usage: /cp-manifests DESTINATION [FOLDER WITH CHARTS]\n");
  process.exitCode = 1;
} else {
  await copyManifests(source, destination);
}
