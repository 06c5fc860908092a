/** What a word of the command line names: `file` and `folder` are left to the shell, nothing is proposed for `free`. */
export type NameKind =
  | "extension"
  | "catalog"
  | "package"
  | "namespace"
  | "serviceAccount"
  | "subscription"
  | "context"
  /** Of the catalog in the folder that is the first argument; the package is the second. */
  | "catalogPackage"
  | "catalogChannel"
  | "catalogBundle"
  | "file"
  | "folder"
  | "free";

/** What the arguments of each command name, by the command's words; the last counts for those after it. A test asks for all of them. */
export const ARGUMENT_KINDS: Readonly<Record<string, readonly NameKind[]>> = {
  approve: ["extension"],
  "bundle config-schema": ["folder"],
  "bundle rbac": ["folder"],
  "bundle render": ["folder"],
  "bundle validate": ["folder"],
  "catalog add": ["free", "free"],
  "catalog add-bundle": ["folder"],
  "catalog deprecate": ["folder", "catalogPackage"],
  "catalog diff": ["folder"],
  "catalog edge add": ["folder", "catalogPackage"],
  "catalog edge remove": ["folder", "catalogPackage"],
  "catalog extract": ["folder"],
  "catalog get": ["catalog"],
  "catalog images": ["folder"],
  "catalog promote": ["folder", "catalogPackage", "catalogBundle", "catalogChannel"],
  "catalog remove": ["catalog"],
  "catalog search": ["catalog", "free"],
  "catalog set-default-channel": ["folder", "catalogPackage", "catalogChannel"],
  "catalog skip": ["folder", "catalogPackage", "catalogBundle"],
  "catalog validate": ["folder"],
  "catalog zstream": ["folder", "catalogPackage"],
  describe: ["extension"],
  events: ["extension"],
  get: ["extension"],
  graph: ["package"],
  history: ["extension"],
  "migrate check": ["subscription"],
  "migrate cleanup": ["extension"],
  "migrate convert": ["subscription"],
  "migrate rollback": ["extension"],
  install: ["package"],
  rbac: ["folder"],
  resolve: ["extension"],
  rollback: ["extension", "free"],
  search: ["free"],
  show: ["package"],
  tree: ["extension"],
  versions: ["package"],
  uninstall: ["extension"],
  upgrade: ["extension"],
  "why-not": ["package", "free"],
};

/** What the values of options name, wherever an option of that name stands. */
export const OPTION_KINDS: Readonly<Record<string, NameKind>> = {
  "--auth-file": "file",
  "--backup": "file",
  "--catalog": "catalog",
  "--catalog-dir": "folder",
  "--config": "file",
  "--context": "context",
  "--extension": "extension",
  "--filename": "file",
  "--kubeconfig": "file",
  "--namespace": "namespace",
  "--package": "package",
  "--registries-conf": "file",
  "--service-account": "serviceAccount",
  "--signature-policy": "file",
  "--system-namespace": "namespace",
  "--watch-namespace": "namespace",
};
