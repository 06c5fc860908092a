import { execFile } from "node:child_process";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { type ImageName, ROOT } from "./project.ts";

/** The image in config/, which a release replaces. */
const PLACEHOLDER = "localhost/olmv1";
const MAX_OUTPUT = 2 ** 26;

/** File of a release → folder of config/ that it contains. */
export const MANIFESTS: Readonly<Record<string, string>> = {
  "olmv1.yaml": ".",
  "olmv1-drop-in.yaml": "overlays/drop-in",
  "olmv1-openshift.yaml": "openshift",
};

/**
 * Renders a folder of config/ with the image of the release, for `kubectl apply -f`.
 * @param kubectl path of the program
 * @param image the digest, if it is known, replaces the tag
 * @throws Error if an object refers to another image.
 */
export async function renderManifest(kubectl: string, folder: string, image: ImageName): Promise<string> {
  const scratch = await realpath(await mkdtemp(join(tmpdir(), "olmv1-manifest-")));
  try {
    const { repository, tag, digest } = image;
    const images = [{ name: PLACEHOLDER, newName: repository, ...(digest === undefined ? { newTag: tag } : { digest }) }];
    const resources = [relative(scratch, join(ROOT, "config", folder))];
    const kustomization = { apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources, images };
    await writeFile(join(scratch, "kustomization.yaml"), JSON.stringify(kustomization));
    const { stdout } = await promisify(execFile)(kubectl, ["kustomize", scratch], { maxBuffer: MAX_OUTPUT });
    const name = digest === undefined ? `${repository}:${tag}` : `${repository}@${digest}`;
    if (stdout.includes(PLACEHOLDER) || !stdout.includes(`image: ${name}\n`))
      throw new Error(`config/${folder} does not refer to ${name}: an image in it has another name than ${PLACEHOLDER}`);
    return stdout;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
