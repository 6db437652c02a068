import { useSignal } from '@preact/signals'
import type { ThreadInfo } from 'millrace/client'
import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { openThread } from '../api.ts'
import { ago, number } from '../format.ts'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import { Keys } from '../keys.tsx'
import { Marked } from '../marked.tsx'
import { foundMessage } from '../state.ts'
import { deleted } from '../threads/delete.ts'
import { changedAt } from '../threads/groups.ts'
import type { Commands } from './commands.ts'
import { commands } from './commands.ts'
import { fuzzyScore } from './fuzzy.ts'
import './palette.css'
import { useThreadSearch } from './use-thread-search.ts'

interface Choice {
  readonly id: string
  readonly label: string
  readonly keys?: string | undefined
  readonly thread?: ThreadInfo
  run(): void
}

interface Group {
  readonly name: string
  readonly choices: readonly Choice[]
}

const steps: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at + count - 1) % count,
  PageDown: (at, count) => Math.min(at + 8, count - 1),
  PageUp: (at) => Math.max(at - 8, 0),
}

/** Everything a user can do, and all threads, by typing (a combobox of the ARIA Authoring Practices). */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const text = useSignal('')
  const place = useSignal(0)
  const isDone = useRef(false)
  const threads = useThreadSearch(text.value)
  // Kept while the palette is open: an action may become available, and all others would move.
  const all = useMemo(commands, [])
  const groups = groupsOf(all, text.value, threads.value)
  const flat = groups.flatMap(({ choices }) => choices)
  const at = Math.min(place.value, flat.length - 1)
  const selected = flat[at]

  useLayoutEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal()
  }, [])
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [selected?.id])

  function close() {
    if (isDone.current) return
    isDone.current = true
    // Gives the focus back, so that a command can take it.
    dialog.current?.close()
    onClose()
  }
  function choose(choice: Choice | undefined) {
    if (!choice) return
    close()
    choice.run()
  }
  function onKeyDown(event: TargetedKeyboardEvent<HTMLInputElement>) {
    if (event.isComposing) return
    const step = steps[event.key]
    if (step) place.value = Math.max(0, step(at, flat.length))
    else if (event.key === 'Enter') choose(selected)
    else if (event.key === 'k' && (event.ctrlKey || event.metaKey)) close()
    else return
    event.preventDefault()
  }

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, too
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Commands"
      onClose={close}
      onClick={({ target }) => target === dialog.current && close()}
    >
      <div class="palette-words">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Command or thread"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls="palette-list"
          aria-activedescendant={selected && `palette-${selected.id}`}
          placeholder="Find a command or thread"
          autocomplete="off"
          spellcheck={false}
          maxLength={256}
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value
            place.value = 0
          }}
          onKeyDown={onKeyDown}
        />
        <button type="button" class="plain" tabIndex={-1} onClick={close}>
          <kbd>esc</kbd>
          <span class="visually-hidden">Close</span>
        </button>
      </div>
      <div
        class="palette-list"
        id="palette-list"
        role="listbox"
        aria-label="Commands and threads"
        tabIndex={-1}
      >
        {groups.map(({ name, choices }) => (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be in a listbox
          <div key={name} role="group" aria-label={name}>
            <p class="palette-group" aria-hidden="true">
              {name}
            </p>
            {choices.map((choice) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the input
              // biome-ignore lint/a11y/useFocusableInteractive: the input has the focus (aria-activedescendant)
              <div
                key={choice.id}
                id={`palette-${choice.id}`}
                class="palette-choice"
                role="option"
                aria-selected={choice === selected}
                onPointerMove={() => (place.value = flat.indexOf(choice))}
                onClick={() => choose(choice)}
              >
                <ChoiceText choice={choice} search={text.value} />
              </div>
            ))}
          </div>
        ))}
      </div>
      <p class="palette-count" role="status">
        {flat.length === 0 ? (
          'Nothing found.'
        ) : (
          <span class="visually-hidden">{number(flat.length)} found.</span>
        )}
      </p>
    </dialog>
  )
}

function ChoiceText({ choice, search }: { readonly choice: Choice; readonly search: string }) {
  const { label, keys, thread } = choice
  if (!thread)
    return (
      <>
        <span class="palette-label" title={label}>
          {label}
        </span>
        {keys && <Keys keys={keys} />}
      </>
    )
  return (
    <>
      <span class="palette-label" dir="auto">
        <Marked text={label} search={search} />
        {thread.match && (
          <span class="palette-match" dir="auto">
            <Marked text={visible(thread.match.text)} search={search} />
          </span>
        )}
      </span>
      <span class="quiet">{ago(changedAt(thread), Date.now())}</span>
    </>
  )
}

/** All commands, those for the open thread first; or those that match, best first, and the threads. */
function groupsOf(
  { thread, page }: Commands,
  typed: string,
  threads: readonly ThreadInfo[],
): readonly Group[] {
  const found = threads.filter(({ id }) => !deleted.value.has(id)).map(threadChoice)
  const groups = typed.trim()
    ? [
        { name: 'Commands', choices: matching([...thread, ...page], typed) },
        { name: 'Threads', choices: found },
      ]
    : [
        { name: 'This thread', choices: thread },
        { name: 'Recent threads', choices: found },
        { name: 'Commands', choices: page },
      ]
  return groups.filter(({ choices }) => choices.length > 0)
}

function matching(choices: readonly Choice[], typed: string): readonly Choice[] {
  return choices
    .map((choice) => ({ choice, score: fuzzyScore(typed, choice.label) }))
    .filter(({ score }) => score !== undefined)
    .sort((one, other) => (other.score ?? 0) - (one.score ?? 0))
    .map(({ choice }) => choice)
}

function threadChoice(thread: ThreadInfo): Choice {
  const { id, title = id, match } = thread
  return {
    id: `thread-${id}`,
    label: visible(title),
    thread,
    run() {
      foundMessage.value = match && { thread: id, seq: match.seq }
      openThread(id)
    },
  }
}
