import { BlockList, isIP } from "node:net";

/**
 * Returns the proxy for a request to `url` according to HTTP_PROXY, HTTPS_PROXY and NO_PROXY
 * (either case), like Go's net/http: loopback is never proxied; NO_PROXY lists hosts (including
 * their subdomains), ".domains", addresses, CIDR blocks, each with an optional port, or "*".
 * @returns undefined for a direct connection
 */
export function getProxyFor(url: URL, env: NodeJS.ProcessEnv): URL | undefined {
  const name = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = proxyUrl(env[name] || env[name.toLowerCase()] || "");
  if (!proxy) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (host === "localhost" || covers("127.0.0.0/8", host) || covers("::1/128", host)) return undefined;
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  const exceptions = (env["NO_PROXY"] || env["no_proxy"] || "").split(",").map((text) => text.trim().toLowerCase());
  return exceptions.some((exception) => exempts(exception, host, port)) ? undefined : proxy;
}

function proxyUrl(text: string): URL | undefined {
  if (text === "") return undefined;
  return URL.parse(/^[a-z0-9+.-]+:\/\//i.test(text) ? text : `http://${text}`) ?? undefined;
}

function exempts(exception: string, host: string, port: string): boolean {
  if (exception === "") return false;
  if (exception === "*") return true;
  if (exception.includes("/")) return covers(exception, host);
  const withPort = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(exception);
  const name = withPort?.[1] ?? withPort?.[2] ?? exception;
  if (withPort && withPort[3] !== port) return false;
  if (isIP(name) !== 0) return covers(`${name}/${isIP(name) === 6 ? 128 : 32}`, host);
  if (isIP(host) !== 0) return false;
  const domain = name.startsWith("*.") ? name.slice(1) : name;
  return domain.startsWith(".") ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

/**
 * Returns whether the address `host` is in the block "address/bits"; false if either is not an
 * address.
 */
function covers(block: string, host: string): boolean {
  const [address = "", bits = ""] = block.split("/");
  const family = isIP(address);
  if (family === 0 || isIP(host) === 0 || !/^\d+$/.test(bits) || Number(bits) > (family === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family === 6 ? "ipv6" : "ipv4");
  return list.check(host, isIP(host) === 6 ? "ipv6" : "ipv4");
}
