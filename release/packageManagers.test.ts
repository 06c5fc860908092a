import { expect, test } from "vitest";
import { parseYaml } from "../pkg/golang/yaml.ts";
import { findExecutables, formatHomebrewFormula, formatKrewManifest } from "./packageManagers.ts";

const CHECKSUMS = new Map([
  ["olmv1_1.2.0_darwin_arm64.tar.gz", "a".repeat(64)],
  ["olmv1_1.2.0_linux_amd64.tar.gz", "b".repeat(64)],
  ["olmv1_1.2.0_windows_amd64.tar.gz", "c".repeat(64)],
  ["olmv1_1.1.0_linux_arm64.tar.gz", "d".repeat(64)],
  ["olmv1_1.2.0_completions.tar.gz", "e".repeat(64)],
  ["olmv1.yaml", "f".repeat(64)],
]);

test("findExecutables returns only archives of this version for a platform", () => {
  expect(findExecutables("1.2.0", CHECKSUMS).map(({ os, arch }) => `${os} ${arch}`)).toEqual([
    "darwin arm64",
    "linux amd64",
    "windows amd64",
  ]);
});

test("formatKrewManifest names address, checksum and executable of each platform", () => {
  const manifest = parseYaml(formatKrewManifest("1.2.0", findExecutables("1.2.0", CHECKSUMS)));
  expect(manifest).toMatchObject({
    metadata: { name: "olmv1" },
    spec: {
      version: "v1.2.0",
      platforms: [
        {
          selector: { matchLabels: { os: "darwin", arch: "arm64" } },
          uri: "https://github.com/olmv1/olmv1/releases/download/v1.2.0/olmv1_1.2.0_darwin_arm64.tar.gz",
          sha256: "a".repeat(64),
          bin: "olmv1",
          files: [
            { from: "olmv1", to: "." },
            { from: "LICENSE", to: "." },
            { from: "LICENSE.node", to: "." },
          ],
        },
        { selector: { matchLabels: { os: "linux", arch: "amd64" } }, sha256: "b".repeat(64), bin: "olmv1" },
        { selector: { matchLabels: { os: "windows", arch: "amd64" } }, sha256: "c".repeat(64), bin: "olmv1.exe" },
      ],
    },
  });
});

test("formatHomebrewFormula lists only macOS and Linux, and only platforms that have an archive", () => {
  const formula = formatHomebrewFormula("1.2.0", findExecutables("1.2.0", CHECKSUMS));
  expect(formula.slice(formula.indexOf("  on_macos"), formula.indexOf("\n\n  def install"))).toBe(`  on_macos do
    on_arm do
      url "https://github.com/olmv1/olmv1/releases/download/v1.2.0/olmv1_1.2.0_darwin_arm64.tar.gz"
      sha256 "${"a".repeat(64)}"
    end
  end
  on_linux do
    on_intel do
      url "https://github.com/olmv1/olmv1/releases/download/v1.2.0/olmv1_1.2.0_linux_amd64.tar.gz"
      sha256 "${"b".repeat(64)}"
    end
  end`);
});
