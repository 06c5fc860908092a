import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { renderForInstall } from "../../pkg/authoring/bundle/renderedBundle.ts";
import { BUNDLE_RULES } from "../../pkg/authoring/bundlecheck/checkBundle.ts";
import { Source } from "../../pkg/authoring/bundlecheck/rule.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { getErrorMessage } from "../../pkg/errors/errors.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { brokenBundles, brokenFiles, SOUND_BUNDLE } from "../support/brokenBundles.ts";
import { describeWithCluster } from "../support/cluster.ts";
import { insecureRegistry } from "../support/pulling.ts";
import { olmv1 } from "../support/runCli.ts";

/** Cases that the API server must also reject: rules that repeat its validation, in bundles that can be rendered. */
const refusedByServer = brokenBundles().filter(
  ({ finds }) =>
    finds.some(({ rule }) => BUNDLE_RULES[rule]?.source === Source.apiServer && BUNDLE_RULES[rule]?.severity === "error") &&
    finds.every(({ rule }) => rule !== "not-renderable"),
);

describeWithCluster("olmv1 bundle", (cluster) => {
  let dir: string;
  let image: string;
  let namespace: string;

  beforeAll(async () => {
    namespace = await cluster.namespace("bundle");
    dir = await mkdtemp(join(tmpdir(), "bundle-command-"));
    await writeFile(join(dir, "registries.conf"), insecureRegistry(cluster.registry.host));
    const repository = cluster.name("things");
    const { digest } = await pushImage(cluster.registry, repository, "v1", { files: brokenFiles({}) });
    image = `${cluster.registry.host}/${repository}@${digest}`;
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  const bundle = (...args: string[]) => olmv1("bundle", ...args, "--registries-conf", join(dir, "registries.conf"));

  /** Dry-runs each object on its own. @returns the errors of the API server */
  async function refusals(objects: readonly KubeObject[]): Promise<string[]> {
    const texts: string[] = [];
    for (const object of objects) {
      await cluster.client.apply(object, { fieldManager: "test", force: true, dryRun: true }).catch((err: unknown) => {
        texts.push(getErrorMessage(err));
      });
    }
    return texts;
  }

  test("olmv1 bundle commands accept images as well as folders", async () => {
    const validated = await bundle("validate", image, SOUND_BUNDLE);
    expect(validated).toMatchObject({ code: 0, err: "" });
    expect(validated.out.match(/All validation tests have completed successfully/g)).toHaveLength(2);
    const [ofImage, ofFolder] = await Promise.all([bundle("render", image), bundle("render", SOUND_BUNDLE)]);
    expect(ofImage).toEqual(ofFolder);
    expect(ofImage.out).toContain("name: things-service\n");
  });

  test("olmv1 bundle reports an image that cannot be pulled", async () => {
    const ended = await bundle("validate", `${cluster.registry.host}/nothing:v1`);
    expect(ended.code).toBe(1);
    expect(ended.out).toMatch(/^error: .*nothing.*\[unreadable\]\nthe bundle is not valid: 1 error, 0 warnings and 0 notes\n$/);
  });

  test("olmv1 bundle renders objects that the API server accepts", async () => {
    const rendered = await bundle("render", image, "--namespace", namespace);
    const objects = parseYamlDocuments(rendered.out) as KubeObject[];
    expect(objects.length).toBeGreaterThan(8);
    expect(await refusals(objects)).toEqual([]);
  });

  describe("bundles with findings", () => {
    test.for(refusedByServer)("the API server also rejects a bundle with $name", async (one) => {
      const { objects } = renderForInstall(loadBundle(brokenFiles(one)), { namespace, certProvider: "auto", aggregateUserRoles: false });
      expect(await refusals(objects)).not.toEqual([]);
    });
  });
});
