import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** What decides how a browser is opened. */
export interface BrowserPlatform {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Version of the kernel, which names Microsoft in the Windows Subsystem for Linux. */
  readonly kernel: string;
}

/** Returns the program that opens a page in the user's browser, with its arguments before the address; undefined without a browser. */
export function findBrowserOpener({ platform, env, kernel }: BrowserPlatform): readonly string[] | undefined {
  const windows = ["url.dll,FileProtocolHandler"];
  if (platform === "win32") return ["rundll32", ...windows];
  if (platform === "darwin") return ["open"];
  if (/microsoft/i.test(kernel)) return ["rundll32.exe", ...windows];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}

/** Opens a page in the user's browser. Does nothing without a browser or if it does not start, because the terminal shows the link. */
export function openBrowser(url: string, env: BrowserPlatform["env"]): void {
  const [program, ...args] = findBrowserOpener({ platform: process.platform, env, kernel: readKernelVersion() }) ?? [];
  if (program === undefined) return;
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}

function readKernelVersion(): string {
  try {
    return readFileSync("/proc/version", "utf8");
  } catch {
    return ""; // not Linux
  }
}
