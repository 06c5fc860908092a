import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** Addresses that lead to this machine, or to what stands on its own link, such as where cloud providers hand out credentials. */
export type InnerAddress = "loopback" | "link-local" | "unspecified";

const LISTS: readonly (readonly [InnerAddress, BlockList])[] = [
  ["loopback", listOf(["127.0.0.0", 8], ["::1", 128])],
  ["link-local", listOf(["169.254.0.0", 16], ["fe80::", 10], ["fd00:ec2::254", 128])],
  ["unspecified", listOf(["0.0.0.0", 8], ["::", 128])],
];

function listOf(...subnets: readonly (readonly [address: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, address.includes(":") ? "ipv6" : "ipv4");
  return list;
}

/** What kind of inner address a URL's hostname is, as far as its text tells; undefined for others and for names that have to be looked up. */
export function innerAddress(hostname: string): InnerAddress | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (host === "localhost" || host.endsWith(".localhost")) return "loopback";
  const family = isIP(host);
  if (family === 0) return undefined;
  // An IPv4 address in IPv6 clothes is that IPv4 address, which BlockList knows by itself.
  return LISTS.find(([, list]) => list.check(host, family === 6 ? "ipv6" : "ipv4"))?.[0];
}

/**
 * Why a request that a registry asks for, by a redirect or as its token service, is not sent there; undefined when it may be. A registry on this
 * machine may name others on it, and nobody may name what is link-local.
 * @param registry the hostname of the registry that was asked.
 */
export function refusal(target: string, registry: string): string | undefined {
  const inner = innerAddress(target);
  if (inner === undefined || (inner !== "link-local" && inner === innerAddress(registry))) return undefined;
  return `refused to ask ${target}, a ${inner} address`;
}

/** Looks names up as the system does, and refuses those that lead to an inner address. */
export const outerLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (err, addresses) => {
    if (err) return callback(err, "", 0);
    const inner = addresses.map(({ address }) => innerAddress(address)).find((found) => found !== undefined);
    if (inner !== undefined) return callback(new Error(`refused to ask ${hostname}, which has a ${inner} address`), "", 0);
    const [first] = addresses;
    if (options.all) return callback(null, addresses);
    return callback(null, first?.address ?? "", first?.family);
  });
};
