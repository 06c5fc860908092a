import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BundledPackage } from "./packages.ts";

const LICENSE_FILE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;
const RULE = "-".repeat(80);

/** A bundled package with the texts of its license and notice files. */
export interface NoticedPackage extends Pick<BundledPackage, "name" | "version" | "license"> {
  /** Texts, without surrounding blank lines; empty if the package has no such file. */
  readonly texts: readonly string[];
}

/** Reads the license and notice files in the folder of each package. @param root of the checkout */
export function readNotices(packages: readonly BundledPackage[], root: string): NoticedPackage[] {
  return packages.map(({ name, version, license, folder }) => {
    const files = readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile() && LICENSE_FILE.test(entry.name))
      .map((entry) => entry.name)
      .toSorted();
    return { name, version, license, texts: files.map((file) => readFileSync(join(root, folder, file), "utf8").trim()) };
  });
}

/**
 * Formats the notices of all bundled packages: each license text once, after the packages that it applies to. A package without a license file is
 * listed with its declared license.
 */
export function formatNotices(packages: readonly NoticedPackage[]): string {
  const byText = Map.groupBy(packages, ({ texts }) => texts.join(`\n\n`));
  const sections = [...byText].map(([text, group]) => {
    const names = group.map(({ name, version, license = "license not declared" }) => `${name} ${version} (${license})`);
    return `${names.join("\n")}\n\n${text === "" ? "The package contains no license file." : text}\n`;
  });
  return `olmv1 contains the following packages. Their licenses follow each list of names.\n\n${RULE}\n${sections.join(`${RULE}\n`)}`;
}
