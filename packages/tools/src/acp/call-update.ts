import type { ContentBlock, ToolCallContent, ToolCallStatus, ToolCallUpdate } from '@agentclientprotocol/sdk'
import type { CallDisplay, ToolResultPart } from 'millrace'
import type { CallState, CallView, LogView } from 'millrace/view'
import { budgetQuestion } from 'millrace/view'
import { blocksOf } from './prompt.ts'

/** Longer texts of a call are cut: an editor shows a part of them anyway. */
const maxChars = 20_000
const maxTitleChars = 120

/** Unique in the session, unlike the id that the model gave the call. */
export const toolCallIdOf = ({ seq, callId }: CallView) => `${seq}-${callId}`

/** Everything that an editor shows of a call. */
export function callFields(call: CallView, hasTerminal: boolean): ToolCallUpdate {
  const { display, input, changedInput, provider } = call
  const rawInput = changedInput ?? input ?? provider?.input
  return {
    toolCallId: toolCallIdOf(call),
    name: call.name,
    title: titleOf(call),
    status: statuses[call.state],
    ...shownAs(display),
    ...(rawInput !== undefined && { rawInput }),
    content: contentOf(call, hasTerminal),
  }
}

/** What the display of a call or a request is for an editor, except for its title and content. */
export function shownAs({ kind, locations }: CallDisplay = {}): Pick<ToolCallUpdate, 'kind' | 'locations'> {
  return { kind: kind ?? 'other', ...(locations && { locations: [...locations] }) }
}

const statuses: { readonly [State in CallState]: ToolCallStatus } = {
  ...{ writing: 'pending', queued: 'pending', asking: 'pending', running: 'in_progress', ok: 'completed' },
  ...{ failed: 'failed', timeout: 'failed', rejected: 'failed', blocked: 'failed', denied: 'failed' },
  ...{ canceled: 'failed', unknown: 'failed' },
}

function titleOf({ name, input, budget, display }: CallView): string {
  if (budget && input) return budgetQuestion(budget, input)
  return display?.title ?? callTitle(name, input)
}

export function callTitle(name: string, input: unknown): string {
  const text =
    input === undefined || JSON.stringify(input) === '{}' ? name : `${name} ${JSON.stringify(input)}`
  return text.length > maxTitleChars ? `${text.slice(0, maxTitleChars)}…` : text
}

function contentOf(call: CallView, hasTerminal: boolean): ToolCallContent[] {
  const { display, result } = call
  const content: ToolCallContent[] = diffsOf(display)
  if (display?.terminal !== undefined && hasTerminal)
    content.push({ type: 'terminal', terminalId: display.terminal })
  // The diff or the terminal says it all.
  if (content.length > 0 && !result?.isError) return content
  return [...content, ...blocksIn(call).map((block) => ({ type: 'content' as const, content: block }))]
}

function blocksIn({ inner, printed, provider, result, state, problem }: CallView): ContentBlock[] {
  const output = result ? outputOf(blocksOf(result.output)) : []
  const inside = inner ? transcript(inner) : ''
  if (inside) return [...blocksOf(inside), ...(isEndOf(inside, result?.output) ? [] : output)]
  if (result) return output
  const text = printed || (state === 'rejected' && problem) || JSON.stringify(provider?.output)
  return text ? outputOf(blocksOf(text)) : []
}

export function diffsOf(display: CallDisplay | undefined): ToolCallContent[] {
  return (display?.diff ?? []).map((diff) => ({ type: 'diff', ...diff }))
}

/** Editors read text as Markdown, which the output of a tool is not. */
function outputOf(blocks: readonly ContentBlock[]): ContentBlock[] {
  return blocks.flatMap((block): ContentBlock[] => {
    if (block.type !== 'text') return [block]
    const text = shortened(block.text).trimEnd()
    const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length))
    const fence = '`'.repeat(longest + 1)
    return text ? [{ type: 'text', text: `${fence}\n${text}\n${fence}` }] : []
  })
}

const shortened = (text: string) => (text.length > maxChars ? `${text.slice(0, maxChars)}\n…` : text)

/** The result of a sub-agent is the end of what it wrote. A tool that asks a model has a result of its own. */
function isEndOf(text: string, output: readonly ToolResultPart[] = []): boolean {
  return output.every((part) => part.type === 'text' && text.endsWith(part.text))
}

/** What a sub-agent has written and done so far, as Markdown. */
function transcript({ rows }: LogView): string {
  const parts = rows.map((row) => {
    if (row.kind === 'text') return row.text.pieces.join('')
    if (row.kind === 'call') return `- ${titleOf(row)} (${row.state})`
    return ''
  })
  const text = parts.filter(Boolean).join('\n\n')
  return text.length > maxChars ? `…${text.slice(-maxChars)}` : text
}
