/** The description of the control plane of this run that the global setup provides to every test file; plain data, because it crosses processes. */
export type ClusterContext =
  | {
      readonly available: true;
      readonly server: string;
      /** Version of the API server, such as "v1.36.3". */
      readonly kubernetes: string;
      /** Path of the administrator's kubeconfig. */
      readonly kubeconfig: string;
      /** Host and port of the image registry, plain HTTP. */
      readonly registryHost: string;
      /** Path of the API server's audit log, one JSON object a line. */
      readonly auditLog: string;
      /** Folder with one log file for each server. */
      readonly logs: string;
      /** Data folder that control planes copy at their start. */
      readonly template: string;
      /** Folder of the built programs. */
      readonly programs: string;
    }
  | { readonly available: false; readonly reason: string };

declare module "vitest" {
  interface ProvidedContext {
    cluster: ClusterContext;
  }
}
