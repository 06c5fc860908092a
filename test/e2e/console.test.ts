import { afterAll, beforeAll } from "vitest";
import { type ApiServer, describeConnections } from "../console/connections.ts";
import { ConsoleBrowser } from "../console/consoleBrowser.ts";
import { describeWithChromium } from "../console/describeWithChromium.ts";
import { describeHostileContent } from "../console/hostileContent.ts";
import { describeInstalls } from "../console/installs.ts";
import { describeKeyboard } from "../console/keyboard.ts";
import { describePages } from "../console/pageChecks.ts";
import { PAGES } from "../console/pages.ts";
import { describePodLogs } from "../console/podLogs.ts";
import { describeRepairs } from "../console/repairs.ts";
import { RunningConsole } from "../console/runningConsole.ts";
import type { TestedConsole } from "../console/testedConsole.ts";
import { describeTroubles } from "../console/troubles.ts";
import { describeUsers } from "../console/users.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { ConsoleWorld } from "../support/consoleWorld.ts";

describeWithChromium("the console in a browser", (chromium) => {
  describeWithPrivateCluster("with extensions in different states", (cluster, dev) => {
    const started = new AsyncDisposableStack();
    let shared: TestedConsole | undefined;
    const tested = (): TestedConsole => {
      if (!shared) throw new Error("the console does not run");
      return shared;
    };

    beforeAll(async () => {
      const world = started.use(await ConsoleWorld.start(cluster, { canary: true }));
      const console = started.use(await RunningConsole.start(cluster.programs, world));
      const browser = started.use(await ConsoleBrowser.signIn(chromium, console));
      shared = { cluster, world, console, browser };
    });
    afterAll(() => started.disposeAsync());

    // First the tests that only read, then those that change the world, and last those that interrupt the API server.
    describePages(PAGES, tested);
    describeTroubles(tested);
    describeHostileContent(tested);
    describeKeyboard(tested);
    describePodLogs(tested);
    describeUsers(tested, chromium);
    describeInstalls(tested);
    describeRepairs(tested);
    const apiServer = (): ApiServer => ({
      stop: () => void process.kill(dev().pid("kube-apiserver") ?? 0, "SIGKILL"),
      start: () => dev().restart("kube-apiserver"),
    });
    describeConnections(tested, chromium, apiServer);
  });
});
