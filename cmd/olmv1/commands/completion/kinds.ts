/** Kind of a word on the command line. The shell completes `file` and `folder`; `free` has no completions. */
export type NameKind =
  | "extension"
  | "catalog"
  | "package"
  | "permissionPolicy"
  | "namespace"
  | "serviceAccount"
  | "subscription"
  | "context"
  /** Names from the catalog in the folder that is the first argument; the second argument is the package. */
  | "catalogPackage"
  | "catalogChannel"
  | "catalogBundle"
  | "file"
  | "folder"
  | "free";

/** Kinds of the arguments of each command; the last one also applies to further arguments. A test requires an entry for each command. */
export const ARGUMENT_KINDS: Readonly<Record<string, readonly NameKind[]>> = {
  approve: ["extension"],
  backup: ["extension"],
  "bundle build": ["folder"],
  "bundle config-schema": ["folder"],
  "bundle push": ["folder", "free"],
  "bundle rbac": ["folder"],
  "bundle render": ["folder"],
  "bundle try": ["folder"],
  "bundle validate": ["folder"],
  "catalog add": ["free", "free"],
  "catalog add-bundle": ["folder"],
  "catalog build": ["folder"],
  "catalog deprecate": ["folder", "catalogPackage"],
  "catalog diff": ["folder"],
  "catalog dockerfile": ["folder"],
  "catalog edge add": ["folder", "catalogPackage"],
  "catalog edge remove": ["folder", "catalogPackage"],
  "catalog extract": ["folder"],
  "catalog get": ["catalog"],
  "catalog images": ["folder"],
  "catalog migrate": ["folder"],
  "catalog mirror": ["folder", "free"],
  "catalog promote": ["folder", "catalogPackage", "catalogBundle", "catalogChannel"],
  "catalog push": ["folder", "free"],
  "catalog remove": ["catalog"],
  "catalog render": ["folder"],
  "catalog search": ["catalog", "free"],
  "catalog serve": ["folder"],
  "catalog set-default-channel": ["folder", "catalogPackage", "catalogChannel"],
  "catalog skip": ["folder", "catalogPackage", "catalogBundle"],
  "catalog template": ["free", "file"],
  "catalog template convert": ["free", "folder"],
  "catalog validate": ["folder"],
  "catalog zstream": ["folder", "catalogPackage"],
  "crd migrate": ["free"],
  describe: ["extension"],
  eject: ["extension"],
  events: ["extension"],
  get: ["extension"],
  graph: ["package"],
  history: ["extension"],
  install: ["package"],
  "migrate catalogs": ["free"],
  "migrate check": ["subscription"],
  "migrate cleanup": ["extension"],
  "migrate convert": ["subscription"],
  "migrate rollback": ["extension"],
  "permissions approve": ["extension"],
  "permissions diff": ["extension"],
  "permissions policy test": ["permissionPolicy"],
  "permissions revoke": ["extension"],
  "permissions show": ["extension"],
  plan: ["extension"],
  rbac: ["folder"],
  resolve: ["extension"],
  restore: ["file"],
  rollback: ["extension", "free"],
  search: ["free"],
  show: ["package"],
  tree: ["extension"],
  uninstall: ["extension"],
  upgrade: ["extension"],
  versions: ["package"],
  "why-not": ["extension", "free"],
};

/** Kinds of option values, for all commands with the option. */
export const OPTION_KINDS: Readonly<Record<string, NameKind>> = {
  "--auth-file": "file",
  "--backup": "file",
  "--bundles-dir": "folder",
  "--catalog": "catalog",
  "--catalog-dir": "folder",
  "--config": "file",
  "--context": "context",
  "--extension": "extension",
  "--file": "file",
  "--filename": "file",
  "--junit": "file",
  "--kubeconfig": "file",
  "--namespace": "namespace",
  "--output-dir": "folder",
  "--package": "package",
  "--registries-conf": "file",
  "--report": "file",
  "--service-account": "serviceAccount",
  "--signature-policy": "file",
  "--system-namespace": "namespace",
  "--to-dir": "folder",
  "--watch-namespace": "namespace",
};
