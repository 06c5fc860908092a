import { type Command, InvalidArgumentError } from "commander";
import { outputOption } from "../../cli/output.ts";
import { listed, several } from "../../cli/several.ts";
import type { Terminal } from "../../cli/terminal.ts";
import type { MirrorOptions } from "../../mirror/mirror.ts";
import { addPushOptions } from "../../registryOptions.ts";
import { CATALOG_SOURCE } from "./source.ts";

const AFTER_HELP = `
It copies the image of every bundle, the images that the bundles name, signatures of these where there are any, and at last the catalog. Digests stay, and
images for several platforms keep them all. What the mirror has already is not sent again, so what was stopped is gone on with by running it once more. Of a
part of a catalog the catalog is made anew, with that part alone.

Where no machine reaches both registries, mirror to oci:FOLDER, carry that folder, and mirror it from there to the registry: an OCI layout with the catalog,
all images with their signatures, and their names. A copy that was stopped goes on where it was, within a blob too.

Repository a/b of any registry becomes REGISTRY/PATH/a-b. In the folder of --to-dir are written: mapping.txt (source=destination, as oc image mirror reads it),
images.txt, registries.conf for both servers and for podman, ImageContentSourcePolicy, ImageDigestMirrorSet, ImageTagMirrorSet, and the ClusterCatalog.

Examples:
  olmv1 catalog mirror quay.io/operatorhubio/catalog:latest mirror.internal:5000/olm --packages argocd-operator
  olmv1 catalog mirror ./catalog mirror.internal:5000/olm --channels foo:stable --versions 'foo:>=1.2' --dry-run
  olmv1 catalog mirror quay.io/operatorhubio/catalog:latest oci:/media/disk/olm --packages argocd-operator
  olmv1 catalog mirror oci:/media/disk/olm mirror.internal:5000/olm --block-sources
  olmv1 catalog mirror quay.io/team/catalog:v1 localhost:5000 --insecure --continue-on-error -o json

Exit codes: 0 all is in the mirror; 1 something is not, with --continue-on-error; 2 something cannot be read, copied or written.
`;

/** Adds `olmv1 catalog mirror`. */
export function addMirror(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("mirror")
    .description("copy a catalog and all its images to another registry, with what makes clusters use them")
    .argument("<catalog>", `${CATALOG_SOURCE}; also what was mirrored to oci:FOLDER`)
    .argument("<target>", "where to: REGISTRY[:PORT][/PATH], or oci:FOLDER, to be carried to a registry")
    .option("--packages <names>", "these packages alone, with commas between", listed)
    .option("--channels <names>", "these channels alone, with commas between; PACKAGE:CHANNEL for those of one package", listed)
    .option("--versions <range>", "versions in this range alone; PACKAGE:RANGE for those of one package", several)
    .option("--manifests-only", "write the files, and copy nothing")
    .option("--dry-run", "write and copy nothing; print where each image would go")
    .option("--continue-on-error", "go on with the other images when one cannot be copied")
    .option("--block-sources", "write rules under which the sources are not asked at all")
    .option("--name <name>", "name of the objects; default: that of the folder or repository")
    .option("--to-dir <path>", "folder of the files; default: <name>-manifests")
    .option("--parallel <number>", "images that are copied at once", countFrom, 4);
  addPushOptions(outputOption(command, ["text", "json", "yaml"]))
    .addHelpText("after", AFTER_HELP)
    .action(async (source: string, target: string, options: MirrorOptions) => {
      const { mirror } = await import("../../mirror/mirror.ts");
      await mirror(terminal, source, target, options);
    });
}

function countFrom(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= 32) return count;
  throw new InvalidArgumentError("It is a number from 1 to 32.");
}
