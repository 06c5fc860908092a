import {
  ArrowCircleUpIcon,
  BanIcon,
  CheckCircleIcon,
  CubeIcon,
  HistoryIcon,
  MinusCircleIcon,
  QuestionCircleIcon,
} from "@patternfly/react-icons";
import type { ComponentProps, ReactElement } from "react";
import type { VersionState } from "../../../../../pkg/consoleapi/why.ts";

const ICONS: Readonly<Record<VersionState, typeof BanIcon>> = {
  chosen: CheckCircleIcon,
  installed: CubeIcon,
  allowed: MinusCircleIcon,
  later: ArrowCircleUpIcon,
  blocked: BanIcon,
  older: HistoryIcon,
};

/** The icon of what resolution makes of a version. */
export function VersionIcon({
  state,
  ...props
}: { readonly state: VersionState | undefined } & ComponentProps<typeof BanIcon>): ReactElement {
  const Icon = state === undefined ? QuestionCircleIcon : ICONS[state];
  return <Icon aria-hidden="true" {...props} />;
}
