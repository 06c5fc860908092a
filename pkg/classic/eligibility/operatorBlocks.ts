import type { Check } from "./check.ts";

/** What the operator is stands against it; all that hold are told. */
export const OPERATOR_BLOCKS = {
  NoAllNamespaces: (_, { csv }) =>
    !csv || csv.supportsAllNamespaces
      ? undefined
      : {
          text: "the operator does not support install mode AllNamespaces",
          next: "install a version that does, or leave it with OLM classic",
        },
  HasDependencies: (_, { csv }) =>
    !csv || csv.dependencies.length === 0
      ? undefined
      : {
          text: `the operator depends on ${csv.dependencies.join(", ")}`,
          next: "OLM classic keeps what it depends on: install that as ClusterExtensions and this one anew, or leave it with OLM classic",
        },
  RequiredByOthers: ({ packageName }, { csv, csvs }) => {
    if (!csv) return undefined;
    const provided = new Set([`package:${packageName}`, ...csv.provides]);
    const others = csvs.filter(
      (other) => other.namespace === csv.namespace && other.name !== csv.name && other.requires.some((key) => provided.has(key)),
    );
    return others.length > 0
      ? {
          text: `other operators of its namespace depend on it: ${others.map(({ name }) => name).join(", ")}`,
          next: "OLM classic would install it anew for them: convert or remove them first",
        }
      : undefined;
  },
  HasApiServices: (_, { csv }) =>
    !csv || csv.apiServices.length === 0
      ? undefined
      : {
          text: `the operator serves APIs itself: APIService ${csv.apiServices.join(", ")}`,
          next: "OLM classic deletes them with the ClusterServiceVersion and the APIs would be gone for a while: reinstall it as a ClusterExtension",
        },
  DeletesOperands: (_, { csv }) =>
    csv?.deletesOperands
      ? {
          text: "its ClusterServiceVersion deletes custom resources when it goes (spec.cleanup.enabled)",
          next: `switch that off: kubectl patch csv ${csv.name} -n ${csv.namespace} --type merge -p '{"spec":{"cleanup":{"enabled":false}}}'`,
        }
      : undefined,
} as const satisfies Record<string, Check>;

export type OperatorBlock = keyof typeof OPERATOR_BLOCKS;
