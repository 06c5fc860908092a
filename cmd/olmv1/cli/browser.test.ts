import { expect, test } from "vitest";
import { findBrowserOpener } from "./browser.ts";

const LINUX = "Linux version 6.1.0-13-amd64";
const WSL = "Linux version 5.15.153.1-microsoft-standard-WSL2";

test.each([
  { platform: "darwin", env: {}, kernel: "", program: "open" },
  { platform: "win32", env: {}, kernel: "", program: "rundll32" },
  { platform: "linux", env: { DISPLAY: ":0" }, kernel: LINUX, program: "xdg-open" },
  { platform: "linux", env: { WAYLAND_DISPLAY: "wayland-0" }, kernel: LINUX, program: "xdg-open" },
  { platform: "linux", env: {}, kernel: LINUX, program: undefined },
  { platform: "linux", env: { DISPLAY: "" }, kernel: LINUX, program: undefined },
  { platform: "linux", env: {}, kernel: WSL, program: "rundll32.exe" },
] as const)("findBrowserOpener returns $program when the platform is $platform with $env and kernel '$kernel'", ({ program, ...given }) => {
  expect(findBrowserOpener(given)?.[0]).toBe(program);
});
