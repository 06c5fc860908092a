import { toYaml } from "../pkg/golang/yaml.ts";
import { NODE_LICENSE_FILE } from "./nodeJs.ts";
import { getDownloadUrl, PROJECT } from "./project.ts";

const DESCRIPTION = "Manage Kubernetes operators with Operator Lifecycle Manager v1";

/** An archive of a release with the executable for one platform. */
export interface ExecutableArchive {
  readonly os: string;
  readonly arch: string;
  readonly file: string;
  readonly sha256: string;
}

/** Returns the name of the archive with the executable for a platform. */
export function getArchiveName(version: string, os: string, arch: string): string {
  return `${PROJECT.name}_${version}_${os}_${arch}.tar.gz`;
}

/** Returns the executables among the files of a release. @param checksums SHA-256 in hexadecimal by file name */
export function findExecutables(version: string, checksums: ReadonlyMap<string, string>): ExecutableArchive[] {
  return [...checksums].flatMap(([file, sha256]) => {
    const [, os = "", arch = ""] = /_(linux|darwin|windows)_(amd64|arm64)\.tar\.gz$/.exec(file) ?? [];
    return file === getArchiveName(version, os, arch) ? [{ os, arch, file, sha256 }] : [];
  });
}

/**
 * Formats the manifest of the kubectl plug-in for krew.
 * @see https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
export function formatKrewManifest(version: string, executables: readonly ExecutableArchive[]): string {
  const manifest = {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: PROJECT.name },
    spec: {
      version: `v${version}`,
      homepage: PROJECT.homepage,
      shortDescription: "Manage operators with OLM v1",
      description: `${DESCRIPTION}:\nfind, install, upgrade, check and publish operators.\n`,
      platforms: executables.map(({ os, arch, file, sha256 }) => ({
        selector: { matchLabels: { os, arch } },
        uri: getDownloadUrl(version, file),
        sha256,
        bin: getExecutableName(os),
        files: [
          { from: getExecutableName(os), to: "." },
          { from: "LICENSE", to: "." },
          { from: NODE_LICENSE_FILE, to: "." },
        ],
      })),
    },
  };
  return toYaml(manifest);
}

/** Returns the name of the executable in its archive. */
export function getExecutableName(os: string): string {
  return os === "windows" ? `${PROJECT.name}.exe` : PROJECT.name;
}

/**
 * Formats the formula for Homebrew, on macOS and Linux, with completions and manual pages.
 * @see https://docs.brew.sh/Formula-Cookbook
 */
export function formatHomebrewFormula(version: string, executables: readonly ExecutableArchive[]): string {
  const platforms = [
    ["on_macos", "darwin"],
    ["on_linux", "linux"],
  ].flatMap(([block, os]) => {
    const processors = [
      ["on_arm", "arm64"],
      ["on_intel", "amd64"],
    ].flatMap(([inner, arch]) => {
      const found = executables.find((one) => one.os === os && one.arch === arch);
      if (found === undefined) return [];
      const lines = [`url "${getDownloadUrl(version, found.file)}"`, `sha256 "${found.sha256}"`];
      return [`    ${inner} do`, ...lines.map((line) => `      ${line}`), "    end"];
    });
    return processors.length === 0 ? [] : [`  ${block} do`, ...processors, "  end"];
  });
  return `class Olmv1 < Formula
  desc "${DESCRIPTION}"
  homepage "${PROJECT.homepage}"
  version "${version}"
  license "Apache-2.0"

${platforms.join("\n")}

  def install
    bin.install "olmv1"
    bin.install_symlink "olmv1" => "kubectl-olmv1"
    bin.install_symlink "olmv1" => "kubectl_complete-olmv1"
    prefix.install "${NODE_LICENSE_FILE}"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/olmv1.bash" => "olmv1"
    zsh_completion.install "completions/_olmv1"
    fish_completion.install "completions/olmv1.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/olmv1 version")
  end
end
`;
}
