import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConsoleBrowser } from "../console/consoleBrowser.ts";
import { describeWithChromium } from "../console/describeWithChromium.ts";
import { describeGoControllerPages, describeGoPages, type TestedGoConsole } from "../console/goPages.ts";
import { RunningConsole } from "../console/runningConsole.ts";
import { expectShown } from "../console/testedConsole.ts";
import { describeWithPrivateCluster, type TestCluster } from "../support/cluster.ts";
import { GoInstallation } from "../support/goInstallation.ts";
import type { GoVersion } from "../support/goOlm/goDefinitions.ts";
import { GoWorld } from "../support/goOlm/goWorld.ts";
import { describeWithData } from "../support/sharedData.ts";

/** Starts a world, a console and a browser for the tests of a describe block. */
function useGoConsole(cluster: TestCluster, chromium: string, version: GoVersion): () => TestedGoConsole {
  const started = new AsyncDisposableStack();
  let shared: TestedGoConsole | undefined;
  beforeAll(async () => {
    const world = started.use(await GoWorld.start(cluster, version));
    const console = started.use(await RunningConsole.start(cluster.programs, world));
    const browser = started.use(await ConsoleBrowser.signIn(chromium, console));
    shared = { cluster, world, browser };
  });
  afterAll(() => started.disposeAsync());
  return () => {
    if (!shared) throw new Error("the console does not run");
    return shared;
  };
}

// The statuses, releases and objects are those of the Go implementation; its programs do not run. Sources: test/support/goOlm.
describeWithChromium("the console with the Go implementation of OLM v1", (chromium) => {
  describeWithPrivateCluster("that requires ServiceAccounts", (cluster) => {
    const tested = useGoConsole(cluster, chromium, "account");
    describeGoPages(tested);
  });

  describeWithPrivateCluster("that ignores ServiceAccounts", (cluster) => {
    const tested = useGoConsole(cluster, chromium, "controller");
    describeGoControllerPages(tested);

    describeWithData("with a recorded installation", (data) => {
      test("the pages of the extension show its objects, its releases, and what an uninstall deletes", async () => {
        const go = new GoInstallation(join(data, "go-release"));
        const { metadata, apiVersion, kind } = await go.restore(cluster.client);
        const body = { status: go.extension["status"] };
        await cluster.client.patch({ apiVersion, kind, name: metadata.name }, body, { type: "merge", subresource: "status" });
        await using page = await tested().browser.open();
        await page.goto(`/extensions/${metadata.name}`);
        await expectShown(page, "flux-operator.v0.38.1 (0.38.1)", "in multiple catalogs with the same priority", "9 objects");
        await page.goto(`/extensions/${metadata.name}/objects`);
        await expectShown(page, "fluxinstances.fluxcd.controlplane.io", "Deployment flux-system/flux-operator");
        await page.goto(`/extensions/${metadata.name}/history`);
        await expectShown(page, "Revision 2 0.38.1 deployed current", "Revision 1");
        await page.goto(`/extensions/${metadata.name}/uninstall`);
        await expectShown(
          page,
          "The controller deletes flux-operator.v0.38.1",
          "CustomResourceDefinition fluxreports.fluxcd.controlplane.io is deleted",
        );
        expect(page.errors).toEqual([]);
      });
    });
  });
});
