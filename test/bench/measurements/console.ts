import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { TOKEN_HEADER } from "../../../pkg/consoleapi/session.ts";
import { ConsoleBrowser, type ConsolePage } from "../../console/consoleBrowser.ts";
import { RunningConsole } from "../../console/runningConsole.ts";
import { findChromium } from "../../support/chromium.ts";
import { installDefinitions } from "../../support/definitions.ts";
import { readStream, type TestStreamMessage } from "../../support/testConsole.ts";
import { BenchCluster } from "../benchCluster.ts";
import { createInstalledExtensions, getExtensionName, setInstalledVersion } from "../consoleExtensions.ts";
import { type BenchContext, type Figure, type Measurement, Skipped } from "../measurement.ts";
import { readProcessUse } from "../processUse.ts";

const EXTENSIONS = 500;
const PAGES = 20;
const REST_MS = 30_000;
const CHANGES = 20;
const RUNS = 5;
/** Files of the build that browsers load compressed. */
const COMPRESSED = "**/*.gz";
const FONT = /\.woff2?(\.gz)?$/;

/** Measures `olmv1 ui` with many extensions: the server without and with open pages, and the pages in a browser. */
export const consoleMeasurement: Measurement = {
  name: "console",
  title: "olmv1 ui with 500 extensions (--extensions): at rest, with 20 open pages, and in a browser",
  figures: [
    "console.rest-memory",
    "console.rest-cpu",
    "console.memory",
    "console.cpu",
    "console.change-cpu",
    "console.message",
    "console.page",
    "console.first-view",
    "console.first-bytes",
    "console.start-bytes",
    "console.all-bytes",
  ],
  async *run(context) {
    const chromium = findChromium();
    if (chromium === undefined) throw new Skipped("chromium is not on the PATH");
    await using cluster = await BenchCluster.start(context);
    const count = context.extensions ?? EXTENSIONS;
    await installDefinitions(cluster.client);
    await createInstalledExtensions(cluster.client, count);
    await using running = await RunningConsole.start(cluster.programs, { kubeconfig: cluster.kubeconfig, registriesConf: "/dev/null" });
    const { browser, headers } = await signIn(chromium, running);
    await using _ = browser;
    const stop = new AbortController();
    try {
      yield* measureServer(context, cluster, running, { headers, stop, count });
    } finally {
      stop.abort();
    }
    yield* measurePages(context, cluster, browser, count);
    yield { id: "console.all-bytes", samples: [sumFiles(join(cluster.programs, "console"))] };
  },
};

/** Signs in, and returns the headers of the page's requests. */
async function signIn(chromium: string, running: RunningConsole) {
  const browser = await ConsoleBrowser.signIn(chromium, running);
  const opened = await browser.openWithoutCache();
  const { page } = opened;
  await opened.goto("/");
  const token = await page.evaluate<string>('localStorage.getItem("olmv1.token")');
  const cookies = await page.context().cookies(new URL("/api", running.url).href);
  await page.context().close();
  return { browser, headers: { [TOKEN_HEADER]: token, cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; ") } };
}

interface ServerLoad {
  readonly headers: Record<string, string>;
  readonly stop: AbortController;
  readonly count: number;
}

async function* measureServer(
  { say }: BenchContext,
  cluster: BenchCluster,
  running: RunningConsole,
  { headers, stop, count }: ServerLoad,
): AsyncGenerator<Figure> {
  const { pid } = running.process;
  const url = new URL(running.url).origin;
  say(`resting for ${REST_MS / 1_000} s, without and with ${PAGES} pages`);
  const rest = await useOf(pid);
  yield { id: "console.rest-memory", samples: [rest.rssBytes], note: `${count} extensions` };
  yield { id: "console.rest-cpu", samples: [rest.cores] };
  const streams = Array.from({ length: PAGES }, () => readStream(url, headers, stop.signal));
  await Promise.all(streams.map((stream) => readUntil(stream, ({ update }) => update.watches.extensions.state === "current")));
  const open = await useOf(pid);
  yield { id: "console.memory", samples: [open.rssBytes], note: `${PAGES} event streams` };
  yield { id: "console.cpu", samples: [open.cores] };
  const before = await readProcessUse(pid);
  const delays: number[] = [];
  for (let i = 1; i <= CHANGES; i++) {
    const version = `2.0.${i}`;
    const started = performance.now();
    const seen = streams.map((stream) =>
      readUntil(stream, ({ update }) => update.extensions.changed.some((row) => hasVersion(row, version))),
    );
    await setInstalledVersion(cluster.client, getExtensionName(1), version);
    await Promise.all(seen);
    delays.push((performance.now() - started) / 1_000);
  }
  yield { id: "console.change-cpu", samples: [((await readProcessUse(pid)).cpuSeconds - before.cpuSeconds) / CHANGES] };
  yield { id: "console.message", samples: delays };
}

async function* measurePages(
  { runs = RUNS }: BenchContext,
  cluster: BenchCluster,
  browser: ConsoleBrowser,
  count: number,
): AsyncGenerator<Figure> {
  const views: number[] = [];
  let listBytes = 0;
  for (let i = 0; i < runs; i++) {
    const opened = await browser.openWithoutCache();
    await opened.goto("/extensions");
    views.push((await opened.page.evaluate<number>(FIRST_ROW)) / 1_000);
    listBytes = await opened.page.evaluate<number>(LOADED_BYTES);
    await opened.page.context().close();
  }
  const start = await browser.openWithoutCache();
  await start.goto("/");
  const startBytes = await start.page.evaluate<number>(LOADED_BYTES);
  await start.page.context().close();
  yield { id: "console.first-view", samples: views, note: `${count} extensions; until the largest element is painted` };
  yield { id: "console.first-bytes", samples: [listBytes] };
  yield { id: "console.start-bytes", samples: [startBytes] };
  yield { id: "console.page", samples: await measureChanges(cluster, await browser.open()) };
}

/** Returns the times from a change to its display, in seconds. */
async function measureChanges(cluster: BenchCluster, opened: ConsolePage): Promise<number[]> {
  const { page } = opened;
  await opened.goto("/extensions");
  const delays: number[] = [];
  for (let i = 1; i <= CHANGES; i++) {
    const version = `3.0.${i}`;
    const shown = page.getByText(version, { exact: true }).first().waitFor();
    const started = performance.now();
    await setInstalledVersion(cluster.client, getExtensionName(1), version);
    await shown;
    delays.push((performance.now() - started) / 1_000);
  }
  await page.close();
  return delays;
}

/** Time of the largest contentful paint, in milliseconds after the start of the navigation. */
const FIRST_ROW = `new Promise((resolve) => {
  new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({ type: "largest-contentful-paint", buffered: true });
})`;
/** Compressed size of the files that the page has loaded. */
const LOADED_BYTES = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .filter(({ name }) => !new URL(name).pathname.startsWith("/api/") && !/[.]woff2?$/.test(name))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

async function useOf(pid: number | undefined): Promise<{ rssBytes: number; cores: number }> {
  const before = await readProcessUse(pid);
  const started = performance.now();
  await sleep(REST_MS);
  const after = await readProcessUse(pid);
  return { rssBytes: after.rssBytes, cores: (after.cpuSeconds - before.cpuSeconds) / ((performance.now() - started) / 1_000) };
}

function hasVersion(row: object, version: string): boolean {
  return "version" in row && row.version === version;
}

/** Reads a stream, without ending it, up to a message. */
async function readUntil(stream: AsyncGenerator<TestStreamMessage>, matches: (message: TestStreamMessage) => boolean): Promise<void> {
  for (;;) {
    const { value, done } = await stream.next();
    if (done) throw new Error("the event stream ended");
    if (matches(value)) return;
  }
}

function sumFiles(folder: string): number {
  const files = globSync(COMPRESSED, { cwd: folder }).filter((file) => !FONT.test(file));
  return files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}
