import type { InputView, RunView } from 'millrace/view'
import { fork, retry, showError } from '../chat/actions.ts'
import { agentOf, chooseModel, modelOf } from '../chat/agents.ts'
import { openApprovals } from '../chat/allow-all.tsx'
import { answerOf } from '../chat/approval-draft.ts'
import { startEdit } from '../chat/edit-form.tsx'
import { answerText } from '../chat/end-row.tsx'
import { rate } from '../chat/feedback.tsx'
import { callTitle } from '../chat/words.ts'
import { copy } from '../copy-button.tsx'
import { openAgentView, openCompare, openPlayground } from '../extra-view.tsx'
import { visible } from '../json/visible.ts'
import type { Action } from '../keyboard.ts'
import { actions } from '../keyboard.ts'
import { panelTabs } from '../panel.tsx'
import type { Session } from '../session.ts'
import { foundMessage, panel, panelOpen, selectedRun, selection, session, theme } from '../state.ts'
import { themes } from '../theme-switch.tsx'
import { deleteThread } from '../threads/delete.ts'
import { importThread } from '../threads/import.ts'
import { titleIn } from '../threads/list.ts'
import { saveAsHtml, saveAsJson, saveAsTest } from '../threads/save.ts'

export interface Commands {
  /** What can be done with the open thread. */
  readonly thread: readonly Action[]
  readonly page: readonly Action[]
}

/** Registered actions that are about the open thread, in this order. */
const aboutThread = ['rename', 'stop']

/** All that a user can do now: the registered actions, and those that are only in the palette. */
export function commands(): Commands {
  const { value: open } = session
  const registered = actions.value.filter(
    ({ id, keys, isAvailable }) => id !== 'palette' && keys !== 'Escape' && isAvailable?.() !== false,
  )
  return {
    thread: [
      ...aboutThread.flatMap((id) => registered.filter((action) => action.id === id)),
      ...(open ? threadCommands(open) : []),
    ],
    page: [
      ...registered.filter(({ id }) => !aboutThread.includes(id)),
      ...modelCommands(open),
      { id: 'agent', label: 'Agent set-up', run: () => openAgentView(open?.agent.value ?? '', open) },
      { id: 'import', label: 'Import thread…', run: importThread },
      ...themes
        .filter(({ name }) => name !== theme.value)
        .map(({ name }) => ({
          id: `theme-${name}`,
          label: `Theme: ${name}`,
          run: () => {
            theme.value = name
          },
        })),
    ],
  }
}

function threadCommands(open: Session): readonly Action[] {
  const { log, thread } = open
  const { id } = thread
  const title = log.title ?? titleIn(id)
  const named = title === undefined ? { id } : { id, title }
  const last = log.runs.at(-1)
  const message = log.rows.findLast((row) => row.kind === 'input')
  return [
    ...approvalCommands(open),
    ...(last?.outcome ? answerCommands(open, last) : []),
    ...(message ? [{ id: 'edit', label: 'Edit the last message', run: () => edit(open, message) }] : []),
    { id: 'fork', label: 'Fork thread', run: () => void fork(open, log.head) },
    { id: 'export-html', label: 'Export thread as HTML', run: () => void saveAsHtml(named) },
    { id: 'export-json', label: 'Export thread as JSON', run: () => void saveAsJson(named) },
    { id: 'export-test', label: 'Export thread as test script', run: () => void saveAsTest(named) },
    { id: 'copy-link', label: 'Copy link to thread', run: () => void copy(location.href) },
    { id: 'copy-id', label: 'Copy thread ID', run: () => void copy(id) },
    ...panelTabs.map(({ name, label }) => ({
      id: `tab-${name}`,
      label: `Inspector: ${label}`,
      run: () => {
        panel.value = name
        panelOpen.value = true
      },
    })),
    ...(last ? inspectCommands(open, last) : []),
    { id: 'delete', label: 'Delete thread', run: () => deleteThread(id) },
  ]
}

/** Allow and deny, for each call that waits, with what was entered in its form. */
function approvalCommands({ log, thread }: Session): readonly Action[] {
  const calls = log.runs.at(-1)?.rounds.at(-1)?.calls ?? []
  return openApprovals(calls).flatMap((request) => {
    const what = visible(request.reason ?? callTitle(request.name, request.input)).replaceAll('`', '')
    const decide = async (approved: boolean) => thread.approve(request.callId, answerOf(request, approved))
    return [true, false].map((approved) => ({
      id: `${approved ? 'allow' : 'deny'}-${request.callId}`,
      label: `${approved ? 'Allow' : 'Deny'}: ${what}`,
      run: () => void decide(approved).catch(showError),
    }))
  })
}

function answerCommands(open: Session, run: RunView): readonly Action[] {
  return [
    { id: 'copy', label: 'Copy the last answer', run: () => void copy(answerText(run)) },
    { id: 'retry', label: 'Retry the last answer', run: () => void retry(open, run) },
    { id: 'good', label: 'Good answer', run: () => rate(open, run, 'up') },
    { id: 'bad', label: 'Bad answer', run: () => rate(open, run, 'down') },
  ]
}

/** The message may be far above what is rendered. */
function edit({ thread }: Session, message: InputView): void {
  foundMessage.value = { thread: thread.id, seq: message.seq }
  startEdit(message)
}

function modelCommands(open: Session | undefined): readonly Action[] {
  const agent = agentOf(open)
  return (agent?.models ?? [])
    .filter((model) => agent && model !== modelOf(open, agent))
    .map((model) => ({
      id: `model-${model}`,
      label: `Model: ${model}`,
      run: () => chooseModel(open?.thread.id, model),
    }))
}

/** Views of the selected run and round, or else of the last ones. */
function inspectCommands(open: Session, last: RunView): readonly Action[] {
  const { value: selected } = selection
  const run = selectedRun.value ?? last
  const round = selected?.kind === 'round' ? selected.round : run.rounds.at(-1)
  const which = selected ? 'selected' : 'last'
  return [
    { id: 'compare', label: `Inspector: Compare the ${which} run…`, run: () => openCompare(open, run) },
    // What a sub-agent read is not in the log of the thread.
    ...(round && open.log.runs.includes(round.run)
      ? [
          {
            id: 'playground',
            label: `Inspector: Open the ${which} round in the playground`,
            run: () => openPlayground(open, round),
          },
        ]
      : []),
  ]
}
