/** The names under which a Service is called. @param host "service.namespace". */
export function serviceNames(host: string): string[] {
  return [host, `${host}.svc`, `${host}.svc.cluster.local`];
}

/**
 * The names that a server's certificate is for which clients reach at `host`: those of a Service where it is one's, in any of its forms, and
 * otherwise that one.
 */
export function servedNames(host: string): string[] {
  const service = /^([a-z0-9-]+\.[a-z0-9-]+)\.svc(?:\.cluster\.local)?$/.exec(host)?.[1];
  return service === undefined ? [host] : serviceNames(service);
}
