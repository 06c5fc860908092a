import { Breadcrumb, BreadcrumbItem, Button, Title } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { Link } from "react-router";
import type { PackageDetails } from "../../../../pkg/consoleapi/packages.ts";
import { Alert } from "../../components/Alert.tsx";
import { Label } from "../../components/Label.tsx";
import { packagesText } from "../../text/packages.ts";
import { getPackagePath, useCatalogData } from "./catalogData.tsx";
import { PackageIconImage } from "./PackageIconImage.tsx";
import { formatVersion } from "./VersionLists.tsx";

const MAX_BUTTONS = 3;
/** Number of characters that identify a short description. */
const COMPARED = 60;

/** Name, state and actions of a package. */
export function PackageHeader({ details }: { readonly details: PackageDetails }): ReactElement {
  const { package: name, catalog, displayName, provider, described, defaultVersion, description, longDescription } = details;
  const title = displayName ?? name;
  return (
    <header className="olm-package-header">
      <Breadcrumb>
        <BreadcrumbItem
          render={({ className }) => (
            <Link to="/packages" className={className}>
              {packagesText.title}
            </Link>
          )}
        />
        <BreadcrumbItem isActive>
          <bdi>{title}</bdi>
        </BreadcrumbItem>
      </Breadcrumb>
      <div className="olm-package-title">
        <PackageIconImage catalog={catalog} name={name} size="lg" />
        <div className="olm-package-name">
          <Title headingLevel="h1" className="olm-break" dir="auto">
            {title}
          </Title>
          <p className="olm-subtle olm-break">
            <bdi>{[formatVersion(described), provider, catalog].filter(Boolean).join(" · ")}</bdi>
          </p>
        </div>
        <Actions details={details} />
      </div>
      {description !== undefined && !startsWith(longDescription ?? description, description) && (
        <p className="olm-break" dir="auto">
          {description}
        </p>
      )}
      {described.version !== defaultVersion && defaultVersion !== undefined && (
        <Alert
          status="info"
          component="p"
          title={packagesText.olderVersion(formatVersion(described), defaultVersion)}
          actions={<Link to={getPackagePath({ package: name, catalog })}>{packagesText.showDefault(defaultVersion)}</Link>}
        />
      )}
      <Warnings details={details} />
    </header>
  );
}

/** Whether the full description begins with the short one, which is then not repeated. */
function startsWith(long: string, short: string): boolean {
  return long
    .slice(0, short.length * 2)
    .replaceAll(/\s+/g, " ")
    .startsWith(short.slice(0, COMPARED));
}

function Actions({ details }: { readonly details: PackageDetails }): ReactElement | null {
  const { hasCluster } = useCatalogData();
  if (!hasCluster) return null;
  const { package: name, catalog, described, defaultVersion, installed = [] } = details;
  if (installed.length > 0) {
    return (
      <div className="olm-labels">
        <Label status="success" isOutlined>
          {packagesText.installed}
        </Label>
        {installed.slice(0, MAX_BUTTONS).map(({ extension }) => (
          <Button
            key={extension}
            variant="secondary"
            component={(props) => <Link {...props} to={`/extensions/${encodeURIComponent(extension)}`} />}
          >
            {packagesText.openExtension(extension)}
          </Button>
        ))}
      </div>
    );
  }
  const version = described.version === defaultVersion ? undefined : described.version;
  const params = new URLSearchParams({ catalog, ...(version === undefined ? {} : { version }) });
  return (
    <Button variant="primary" component={(props) => <Link {...props} to={`/packages/${encodeURIComponent(name)}/install?${params}`} />}>
      {packagesText.install}
    </Button>
  );
}

function Warnings({ details }: { readonly details: PackageDetails }): ReactElement {
  const { deprecated, described, channels, obstacles = [] } = details;
  const own = channels.filter(({ name, deprecated: why }) => why !== undefined && described.channels.includes(name));
  const all: [title: string, text: string][] = [
    ...(deprecated === undefined ? [] : [[packagesText.deprecatedPackage, deprecated] as [string, string]]),
    ...(described.deprecated === undefined
      ? []
      : [[packagesText.deprecatedVersion(formatVersion(described)), described.deprecated] as [string, string]]),
    ...own.map((one): [string, string] => [packagesText.deprecatedChannel(one.name), one.deprecated ?? ""]),
    ...obstacles.map((one): [string, string] => [packagesText.cannotInstall, one]),
  ];
  return (
    <>
      {all.map(([title, text]) => (
        <Alert key={`${title} ${text}`} status="warning" component="p" title={<bdi className="olm-break">{title}</bdi>}>
          <p className="olm-break" dir="auto">
            {text}
          </p>
        </Alert>
      ))}
    </>
  );
}
