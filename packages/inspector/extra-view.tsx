import { computed, signal } from '@preact/signals'
import type { RoundView, RunView } from 'millrace/view'
import { lazy } from './lazy.tsx'
import type { Session } from './session.ts'
import { panel, panelOpen, session } from './state.ts'

/** What the fourth tab of the panel shows. It appears when one of these is opened. */
export type ExtraView =
  | { readonly kind: 'agent'; readonly agent: string; readonly session?: Session | undefined }
  | { readonly kind: 'playground'; readonly session: Session; readonly round: RoundView }
  | { readonly kind: 'compare'; readonly session: Session; readonly run: RunView }

export const extraView = signal<ExtraView | undefined>(undefined)

export const extraLabels: Readonly<Record<ExtraView['kind'], string>> = {
  agent: 'Agent',
  playground: 'Playground',
  compare: 'Compare',
}

/** Whether the panel is shown: for the open thread, or, without one, for an agent. */
export const panelShown = computed(() => panelOpen.value && (session.value !== undefined || isAgentOnly()))

function isAgentOnly(): boolean {
  const { value: view } = extraView
  return view?.kind === 'agent' && !view.session
}

function open(view: ExtraView): void {
  extraView.value = view
  panel.value = 'extra'
  panelOpen.value = true
}

/**
 * Shows how an agent is set up; without a name, the default agent. In the runs of a thread it may have
 * another name: pass its session.
 */
export function openAgentView(agent: string, session?: Session): void {
  open({ kind: 'agent', agent, session })
}

/** Opens a round for changes. The round must belong to the thread, not to a sub-agent. */
export function openPlayground(session: Session, round: RoundView): void {
  open({ kind: 'playground', session, round })
}

/** Compares a run with one that the user chooses. */
export function openCompare(session: Session, run: RunView): void {
  open({ kind: 'compare', session, run })
}

const AgentView = lazy(async () => (await import('./agent-view/agent-view.tsx')).AgentView)
const Playground = lazy(async () => (await import('./playground/playground.tsx')).Playground)
const Compare = lazy(async () => (await import('./compare/compare.tsx')).Compare)

export function Extra() {
  const { value: view } = extraView
  if (view?.kind === 'agent') return <AgentView key={view} agent={view.agent} session={view.session} />
  if (view?.kind === 'playground')
    return <Playground key={view.round} session={view.session} round={view.round} />
  if (view?.kind === 'compare') return <Compare key={view.run} session={view.session} run={view.run} />
  return null
}
