import type { Message, ThreadView, ToolResultPart } from '../protocol/index.ts'
import { textOf, toolCallsOf } from '../protocol/index.ts'
import { cleanText } from './terminal/index.ts'

/** A thread as Markdown. */
export function markdownOf({
  id,
  agent,
  createdAt,
  messages,
  usage,
}: Pick<ThreadView, 'id' | 'agent' | 'createdAt' | 'messages' | 'usage'>): string {
  const facts = [
    `agent ${agent}`,
    `started ${new Date(createdAt).toISOString()}`,
    `${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
  ]
  const parts = [`# Thread ${id}`, facts.join(' · '), ...messages.flatMap(partsOf)]
  return `${cleanText(parts.filter((part) => part !== '').join('\n\n'))}\n`
}

function partsOf(message: Message): string[] {
  switch (message.role) {
    case 'system':
      return ['## System', textOf(message)]
    case 'user':
      return ['## You', textOf(message).trim(), ...attachmentsOf(message)]
    case 'assistant': {
      const calls = toolCallsOf(message)
      return [
        '## Assistant',
        textOf(message).trim(),
        ...calls.map(
          ({ name, input, raw }) =>
            `**${name}**\n\n${fenced(raw ?? JSON.stringify(input, undefined, 2), 'json')}`,
        ),
      ]
    }
    case 'tool':
      return [`### ${message.name}${message.isError ? ' failed' : ''}`, ...message.content.map(resultOf)]
  }
}

function attachmentsOf({ content }: Extract<Message, { role: 'user' }>): string[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => (part.type === 'text' ? [] : [`(${part.type})`]))
}

function resultOf(part: ToolResultPart): string {
  if (part.type === 'text') return fenced(part.text, '')
  return part.type === 'json' ? fenced(JSON.stringify(part.value, undefined, 2), 'json') : `(${part.type})`
}

/** CommonMark 4.5: only a fence of at least the same length closes a code block. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}`
}
