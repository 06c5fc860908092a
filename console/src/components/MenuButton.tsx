import { MenuToggle, type MenuToggleProps } from "@patternfly/react-core";
import { type ReactElement, type ReactNode, type RefObject, Suspense, useRef, useState } from "react";

/** What a menu gets from its button. */
export interface OpenedMenu {
  /** Properties of menus of PatternFly: the button is outside of the menu, so that it stays when the menu is loaded. */
  readonly toggle: { readonly toggleNode: ReactNode; readonly toggleRef: RefObject<HTMLButtonElement | null> };
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
}

/** A button that opens a menu. The program of the menu is not part of the page: it is loaded when the user is about to open the menu. */
export function MenuButton({
  children,
  load,
  menu,
  ...toggle
}: Pick<MenuToggleProps, "badge" | "className" | "isDisabled" | "variant"> & {
  readonly children: ReactNode;
  /** Starts to load the program of the menu. */
  readonly load: () => Promise<unknown>;
  /** Renders the menu, with components that `load` loads. */
  readonly menu: (opened: OpenedMenu) => ReactNode;
}): ReactElement {
  const toggleRef = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState<boolean>();
  const prepare = (): void => void load().catch(() => undefined); // the menu reports it when it is opened
  return (
    <>
      <MenuToggle
        {...toggle}
        ref={toggleRef}
        isExpanded={isOpen ?? false}
        onClick={() => setOpen(!isOpen)}
        onPointerEnter={prepare}
        onFocus={prepare}
      >
        {children}
      </MenuToggle>
      {isOpen !== undefined && (
        <Suspense fallback={null}>{menu({ toggle: { toggleNode: undefined, toggleRef }, isOpen, onOpenChange: setOpen })}</Suspense>
      )}
    </>
  );
}
