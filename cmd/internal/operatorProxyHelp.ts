/** What each flag about the proxy of installed operators is for, for people. */
export const OPERATOR_PROXY_HELP = {
  "operator-proxy":
    'which proxy installed operators are told in HTTP_PROXY, HTTPS_PROXY and NO_PROXY: that of OpenShift\'s Proxy "cluster" (auto), or none',
  "operator-http-proxy":
    "URL for their HTTP_PROXY; with any of these three, the cluster is not asked; whoever may see this program's arguments sees a password in it",
  "operator-https-proxy": "URL for their HTTPS_PROXY",
  "operator-no-proxy": "hosts, domains and networks for their NO_PROXY, with commas between them",
} as const;
