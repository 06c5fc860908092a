import type { Check } from "./check.ts";

/** What is to be known and stands against nothing. */
export const REMARKS = {
  WatchScopeKept: (_, { groups }) => {
    const targets = groups.length === 1 ? (groups[0]?.targets ?? []) : [];
    return targets.length === 0
      ? undefined
      : {
          text: `the operator watches ${targets.join(", ")} only, and the configuration of the extension keeps it so`,
          next: "remove watchNamespace from spec.config.inline to have it watch all namespaces",
        };
  },
  ConfigKept: ({ config }) =>
    Object.keys(config).length === 0
      ? undefined
      : {
          text: `spec.config of the Subscription becomes spec.config.inline.deploymentConfig${config["selector"] === undefined ? "" : "; its selector, which OLM classic never heeded, is left out"}`,
          next: "change it there from now on",
        },
  ScopedServiceAccount: (_, { groups }) => {
    const [name] = groups.flatMap(({ serviceAccount }) => serviceAccount ?? []);
    return name === undefined
      ? undefined
      : {
          text: `OLM classic installs as ServiceAccount "${name}" of the OperatorGroup`,
          next: `name it with --service-account ${name}, or have one with exactly the rights of the bundle made with --create-service-account`,
        };
  },
  ReportsConditions: (_, { reportsConditions }) =>
    reportsConditions
      ? {
          text: "the operator reports conditions in its OperatorCondition, which nothing reads any more afterwards",
          next: "look at spec.approval of the extension, if upgrades have to wait for the operator",
        }
      : undefined,
  UsesClassicApis: (_, { csv }) =>
    csv?.usesClassicApis
      ? {
          text: "the operator may read or write Subscriptions or other objects of OLM classic",
          next: "ask its documentation whether it runs without them",
        }
      : undefined,
  HasWebhooks: (_, { csv }) =>
    csv && csv.webhooks.length > 0
      ? {
          text: `the certificates of its webhooks are provided anew: ${csv.webhooks.join(", ")}`,
          next: "expect its webhooks to refuse requests for some seconds while it is converted",
        }
      : undefined,
  ConvertsVersions: (_, { csv }) =>
    csv && csv.converts.length > 0
      ? {
          text: `OLM classic switches the conversion of versions off when the ClusterServiceVersion goes, and convert switches it on again at once: ${csv.converts.join(", ")}`,
          next: "convert it when nobody writes such custom resources in a version that is not the stored one",
        }
      : undefined,
  ReportedByClassic: ({ troubles }) =>
    troubles.length === 0
      ? undefined
      : {
          text: `OLM classic reports on the Subscription: ${troubles.join("; ")}`,
          next: "what is installed runs, and can be converted; only OLM classic looks at this",
        },
  UpgradeWaiting: ({ currentCsv, installedCsv }, { planPhase }) =>
    currentCsv === undefined || installedCsv === undefined || currentCsv === installedCsv
      ? undefined
      : {
          text: `an upgrade to "${currentCsv}" ${planPhase === "Failed" ? "has failed" : "waits for approval"}`,
          next: "the installed version is converted; choose the other one afterwards",
        },
} as const satisfies Record<string, Check>;

export type Remark = keyof typeof REMARKS;
