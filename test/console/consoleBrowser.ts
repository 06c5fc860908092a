import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { RunningConsole } from "./runningConsole.ts";

/** Without the last flags, the browser tries to reach servers of its vendor. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const READY_MS = 30_000;
const SETTLE_MS = 50;
/** Expressions that run in the page. */
const LATE_FILES = `fetch(location.href).then((response) => response.text()).then((html) =>
  performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname)
    .filter((path) => /[.](css|js)$/.test(path) && !html.includes(path)))`;
const OVERFLOW = "document.documentElement.scrollWidth - innerWidth";
/** A tooltip is outside of landmarks, because it belongs to its element. */
const RUN_AXE = "axe.run({ exclude: ['[role=tooltip]'] })";
const END_OF_TRANSITIONS = "Promise.allSettled(document.getAnimations().map((one) => one.finished)).then(() => undefined)";

/** How a page is shown. */
export interface PageView {
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
}

/** A headless browser for the pages of a console. They share one profile, so that each loads the program from the cache. */
export class ConsoleBrowser implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #profile: BrowserContext;
  readonly #url: string;

  private constructor(browser: Browser, profile: BrowserContext, url: string) {
    this.#browser = browser;
    this.#profile = profile;
    this.#url = url;
  }

  /** Starts the browser and signs in with the link that the console printed. */
  static async signIn(program: string, { link, url }: Pick<RunningConsole, "link" | "url">): Promise<ConsoleBrowser> {
    const started = await ConsoleBrowser.start(program, url);
    const page = await started.#profile.newPage();
    await page.goto(link);
    await page.waitForURL(url);
    await page.waitForSelector("h1");
    await page.close();
    return started;
  }

  /** Starts the browser for a server without sign-in. @param url address of the server, with a slash at the end */
  static async start(program: string, url: string): Promise<ConsoleBrowser> {
    const browser = await chromium.launch({ executablePath: program, args: FLAGS });
    const profile = await browser.newContext({ reducedMotion: "reduce" });
    await profile.grantPermissions(["clipboard-read", "clipboard-write"]);
    return new ConsoleBrowser(browser, profile, url);
  }

  /** Opens an empty page, signed in if the server requires that. */
  async open({ theme = "light", width = 1280, height = 900 }: PageView = {}): Promise<ConsolePage> {
    const page = await this.#profile.newPage();
    await page.setViewportSize({ width, height });
    const opened = new ConsolePage(page, this.#url);
    await opened.useTheme(theme);
    return opened;
  }

  /** Opens an empty page, signed in, in a profile of its own: its first visit loads the whole program. Close its context after use. */
  async openWithoutCache(): Promise<ConsolePage> {
    const profile = await this.#browser.newContext({ storageState: await this.#profile.storageState(), reducedMotion: "reduce" });
    return new ConsolePage(await profile.newPage(), this.#url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** A page of the console, with what went wrong in it. */
export class ConsolePage implements AsyncDisposable {
  readonly page: Page;
  /** Console errors, uncaught errors, and requests to other servers. */
  readonly errors: string[] = [];
  readonly #url: string;

  constructor(page: Page, url: string) {
    this.page = page;
    this.#url = url;
    page.on("console", (message) => {
      if (message.type() !== "error" && message.type() !== "warning") return;
      const path = message.location().url.replace(url, "/");
      this.errors.push(`${message.type()}: ${message.text()} (${path})`);
    });
    page.on("pageerror", (err) => this.errors.push(`uncaught: ${err.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith("data:")) this.errors.push(`foreign request: ${request.url()}`);
    });
  }

  /** Shows a theme after each further load. */
  async useTheme(theme: "light" | "dark"): Promise<void> {
    await this.page.addInitScript((chosen) => localStorage.setItem("olmv1.theme", chosen), theme);
  }

  /** Opens a path and waits until its content is loaded. */
  async goto(path: string): Promise<void> {
    await this.page.goto(new URL(path, this.#url).href);
    await this.ready();
  }

  /** Waits until the page has a heading and nothing is loading. */
  async ready(): Promise<void> {
    await this.page.waitForSelector("h1", { timeout: READY_MS });
    // A page may start further requests when the first one has ended.
    for (let i = 0; i < 2; i++) {
      await this.page.waitForSelector('[aria-busy="true"]', { state: "detached", timeout: READY_MS });
      await this.page.waitForTimeout(SETTLE_MS);
    }
  }

  /** Returns the visible text of the main part, with single spaces. */
  async mainText(): Promise<string> {
    return (await this.page.locator("main").innerText()).replaceAll(/\s+/g, " ");
  }

  /** Returns the violations that axe finds, each with its first elements. Waits for transitions, in which colours have no contrast. */
  async findViolations(): Promise<string[]> {
    await this.page.evaluate(END_OF_TRANSITIONS);
    await this.page.evaluate(AXE);
    const results = await this.page.evaluate<AxeResults>(RUN_AXE);
    return results.violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ html }) => html.slice(0, 200))
          .join(" | ")}`,
    );
  }

  /** Returns the scripts and styles that the page has loaded although its HTML does not refer to them, so that they were loaded late. */
  async findLateFiles(): Promise<string[]> {
    return this.page.evaluate<string[]>(LATE_FILES);
  }

  /** Returns how many pixels the page is wider than the window. */
  async measureOverflow(): Promise<number> {
    return this.page.evaluate<number>(OVERFLOW);
  }

  /** Returns how many pixels the widest table is wider than its frame. */
  async measureTableOverflow(): Promise<number> {
    const overflows = await this.page.locator(".olm-table").evaluateAll((all) => all.map((one) => one.scrollWidth - one.clientWidth));
    return Math.max(0, ...overflows);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.close();
  }
}
