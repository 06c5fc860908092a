// Creates a CycloneDX bill of materials for a build: the bundled packages with version, license and checksum from the lockfile. It contains no time
// or serial number, so that the build is reproducible.

/**
 * @param metafile from esbuild, with paths relative to the root of the checkout.
 * @param modules paths of the modules of the web console.
 * @param lock the parsed package-lock.json.
 * @see https://cyclonedx.org/docs/1.5/json
 */
export function billOfMaterials(metafile, modules, lock) {
  const bundled = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? folderOf(path) : [])),
  );
  const components = [...new Set([...bundled, ...modules.flatMap(folderOf)])]
    .sort()
    .map((folder) => componentOf(folder, lock.packages[folder]));
  const { name, version, license } = lock.packages[""];
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: { type: "application", "bom-ref": `${name}@${version}`, name, version, licenses: licensesOf(license) } },
    components: [...new Map(components.map((component) => [component.purl, component])).values()], // the same version may be installed in two folders
  };
}

/** Returns the package folder of a file, such as "node_modules/a/node_modules/@b/c", in a list that is empty for files of the project. */
function folderOf(path) {
  const at = path.lastIndexOf("node_modules/");
  if (at < 0) return [];
  const [first, second] = path.slice(at + "node_modules/".length).split("/");
  return [path.slice(path.indexOf("node_modules/"), at) + ["node_modules", first, ...(first.startsWith("@") ? [second] : [])].join("/")];
}

function componentOf(folder, locked) {
  if (!locked) throw new Error(`package-lock.json does not contain the bundled package ${folder}`);
  const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
  const purl = `pkg:npm/${name.replace("@", "%40")}@${locked.version}`;
  const [algorithm, hash = ""] = locked.integrity.split("-");
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version: locked.version,
    purl,
    licenses: licensesOf(locked.license),
    hashes: [{ alg: algorithm.replace("sha", "SHA-"), content: Buffer.from(hash, "base64").toString("hex") }],
  };
}

function licensesOf(license) {
  if (license === undefined) return [];
  return [/ (OR|AND) /.test(license) ? { expression: license } : { license: { id: license } }];
}
