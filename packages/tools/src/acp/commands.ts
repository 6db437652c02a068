import type { AvailableCommand, ContentBlock } from '@agentclientprotocol/sdk'
import type { Thread } from 'millrace'
import { formatUsd } from 'millrace/view'

export const availableCommands: AvailableCommand[] = [
  { name: 'usage', description: 'Show tokens and cost of this session' },
  { name: 'title', description: 'Rename this session', input: { hint: 'the new title' } },
]

/** Runs a prompt that is a command. Returns what it prints; undefined for anything else. */
export async function runCommand(
  [block, ...others]: readonly ContentBlock[],
  thread: Thread,
): Promise<string | undefined> {
  if (block?.type !== 'text' || others.length > 0) return undefined
  const [, name, argument = ''] = /^\/(usage|title)(?:\s+([\s\S]*))?$/.exec(block.text.trim()) ?? []
  if (name === 'usage') return usage(thread)
  if (name !== 'title') return undefined
  if (!argument) return 'Write the new title after the command: `/title Fix the login`'
  await thread.rename(argument)
  return `Renamed to: ${argument}`
}

async function usage(thread: Thread): Promise<string> {
  const { usage, cost, context } = await thread.state({ bytes: 0 })
  const tokens = ({ inputTokens, outputTokens }: typeof usage) =>
    `${inputTokens.toLocaleString('en-US')} tokens in, ${outputTokens.toLocaleString('en-US')} out`
  const parts = [
    cost.usd === undefined ? `at least ${formatUsd(cost.knownUsd)}` : formatUsd(cost.usd),
    tokens(usage),
  ]
  if (context?.limit) parts.push(`context ${Math.round((100 * context.tokens) / context.limit)} % full`)
  return parts.join(' · ')
}
