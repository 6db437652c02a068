import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { IconName } from '../icons.tsx'
import { Icon } from '../icons.tsx'
import { placeOf } from './place.ts'

interface MenuItem {
  readonly label: string
  readonly icon: IconName
  readonly isDangerous?: boolean
  run(): void
}

export interface ThreadMenuProps {
  readonly label: string
  readonly items: readonly MenuItem[]
}

const steps: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
}

/** A menu button (ARIA Authoring Practices). The menu is a popover, since the list scrolls. */
export function ThreadMenu({ label, items }: ThreadMenuProps) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class="plain icon threads-menu-button"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={label}
        title={label}
        onClick={() => setOpen(!isOpen)}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown' || isOpen) return
          event.preventDefault()
          setOpen(true)
        }}
      >
        <Icon name="more" />
      </button>
      {isOpen && (
        <Menu label={label} items={items} button={button.current} onClose={close} onLeave={setOpen} />
      )}
    </>
  )
}

interface MenuProps extends ThreadMenuProps {
  readonly button: HTMLButtonElement | null
  /** An item was chosen, or Escape was pressed. */
  onClose(): void
  /** The menu was closed by a click outside, or with Tab. */
  onLeave(open: false): void
}

function Menu({ label, items, button, onClose, onLeave }: MenuProps) {
  const element = useRef<HTMLDivElement>(null)
  const choices = () => [...(element.current?.querySelectorAll('button') ?? [])]

  useLayoutEffect(() => {
    const menu = element.current
    if (!menu || !button) return
    menu.showPopover()
    const place = placeOf(button.getBoundingClientRect(), menu.getBoundingClientRect())
    menu.style.left = `${place.left}px`
    menu.style.top = `${place.top}px`
    choices()[0]?.focus()
    // Otherwise the menu would stay in place while its button moves.
    const leave = () => onLeave(false)
    const box = button.closest('.virtual')
    box?.addEventListener('scroll', leave)
    return () => box?.removeEventListener('scroll', leave)
  }, [button])

  function onKeyDown(event: TargetedKeyboardEvent<HTMLDivElement>) {
    const all = choices()
    const at = all.indexOf(document.activeElement as HTMLButtonElement)
    const to = steps[event.key]?.(at, all.length)
    if (to !== undefined) all[to]?.focus()
    else if (event.key === 'Escape') onClose()
    else if (event.key === 'Tab') return onLeave(false)
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  return (
    <div
      ref={element}
      class="threads-menu"
      role="menu"
      aria-label={label}
      popover="auto"
      onKeyDown={onKeyDown}
      onToggle={(event) => {
        if ((event as unknown as ToggleEvent).newState === 'closed') onLeave(false)
      }}
    >
      {items.map(({ label, icon, isDangerous, run }) => (
        <button
          key={label}
          type="button"
          role="menuitem"
          tabIndex={-1}
          class={`plain ${isDangerous ? 'danger' : ''}`}
          onClick={() => {
            onClose()
            run()
          }}
        >
          <Icon name={icon} /> {label}
        </button>
      ))}
    </div>
  )
}
