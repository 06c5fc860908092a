import { CatalogCheck } from "../fbc/checks/catalogCheck.ts";
import { type Finding, findingText } from "../fbc/checks/finding.ts";
import { MetaDecoder } from "../fbc/decode.ts";
import { type CatalogFiles, EditError, type EditResult, PackageEdit } from "./packageEdit.ts";

/** At most so many faults are told. */
const MAX_TOLD = 10;

/**
 * Edits one package of a catalog and checks what came of it.
 * @param files of the whole catalog.
 * @throws EditError where it cannot be done, or where opm would refuse the catalog for something that it does not refuse it for now; ContentError
 * for a catalog that cannot be read.
 */
export function editCatalog(files: CatalogFiles, packageName: string, work: (edit: PackageEdit) => void): EditResult {
  if (packageName === "") throw new EditError("a package has a name");
  const edit = new PackageEdit(files, packageName);
  work(edit);
  const result = edit.result();
  if (result.files.size > 0) requireSound(files, packageName, result);
  return result;
}

/** The catalog as it is with the result. */
export function edited(files: CatalogFiles, result: EditResult): Map<string, string> {
  const all = new Map<string, string>();
  for (const [path, text] of [...files, ...result.files]) {
    if (text === undefined) all.delete(path);
    else all.set(path, text);
  }
  return all;
}

function requireSound(files: CatalogFiles, packageName: string, result: EditResult): void {
  const before = new Set(errorsIn(files, packageName).map(keyOf));
  const added = errorsIn(edited(files, result), packageName).filter((finding) => !before.has(keyOf(finding)));
  if (added.length === 0) return;
  const told = added.slice(0, MAX_TOLD).map((finding) => `  ${findingText(finding)} [${finding.rule}]`);
  const more = added.length > told.length ? [`  and ${added.length - told.length} more`] : [];
  throw new EditError(["the catalog would not be valid any more, nothing was changed:", ...told, ...more].join("\n"));
}

/** The errors in the files that say something of the package. */
function errorsIn(files: CatalogFiles, packageName: string): Finding[] {
  const check = new CatalogCheck();
  for (const [path, text] of files) {
    if (!text.includes(packageName)) continue;
    const decoder = new MetaDecoder(path, { onEmpty: (place) => check.addEmpty(place) });
    for (const meta of decoder.push(Buffer.from(text))) check.add(meta);
    for (const meta of decoder.end()) check.add(meta);
  }
  return check.end().findings.filter(({ severity }) => severity === "error");
}

/** A finding without the place that an edit may have moved. */
function keyOf({ rule, schema, package: packageName, name, message, path }: Finding): string {
  return JSON.stringify([rule, schema, packageName, name, message, path]);
}
