/** The address of a Service in its cluster. */
export interface ServiceAddress {
  readonly namespace: string;
  readonly service: string;
  readonly port: string;
}

/** "name.namespace.svc". Other domains than the default one of a cluster could be hosts outside of the cluster. */
const SERVICE_HOST = /^([a-z0-9-]{1,63})\.([a-z0-9-]{1,63})\.svc(\.cluster\.local)?$/;

/** Returns the Service of a URL with protocol http or https; undefined if the host is not a Service. */
export function parseServiceAddress({ protocol, hostname, port }: URL): ServiceAddress | undefined {
  const [, service, namespace] = SERVICE_HOST.exec(hostname) ?? [];
  if (service === undefined || namespace === undefined) return undefined;
  return { namespace, service, port: port || (protocol === "https:" ? "443" : "80") };
}

/** Returns the path at the API server that forwards requests to the path and query of `url` at a Service. Needs permission to get services/proxy. */
export function formatServiceProxyPath({ namespace, service, port }: ServiceAddress, { protocol, pathname, search }: URL): string {
  const name = `${protocol === "https:" ? "https:" : ""}${service}:${port}`;
  return `/api/v1/namespaces/${namespace}/services/${name}/proxy${pathname}${search}`;
}
