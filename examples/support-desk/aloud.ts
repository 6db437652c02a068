import type { Conversation } from './conversation.ts'

const ones =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

const spokenNumber = new RegExp(
  `\\b(?:(${tens.join('|')})(?:[- ](${ones.slice(1, 10).join('|')}))?|(${ones.join('|')}))\\b`,
  'gi',
)
const orderNumbers = /\b(?:ord-|(?:order(?:s|ed)?|number)(?: number)?[ #]*)\d+(?:(?:,| and|, and) #?\d+)*/gi

/** The order ids in a text, written (ORD-42) or spoken: "order number forty-two", "orders 44 and 45". */
export function idsIn(text: string): string[] {
  const named = inDigits(text).match(orderNumbers) ?? []
  const numbers = named.flatMap((one) => one.match(/\d+/g) ?? [])
  return [...new Set(numbers.map((number) => `ORD-${number}`))]
}

/** Converts spoken numbers up to ninety-nine. */
function inDigits(text: string): string {
  return text.replace(spokenNumber, (_, ten: string | undefined, one = 'zero', small = one) =>
    String((ten ? 20 + 10 * indexIn(tens, ten) : 0) + indexIn(ones, small)),
  )
}

function indexIn(words: readonly string[], word: string): number {
  return words.indexOf(word.toLowerCase())
}

/** Whether the system prompt says that the agent is on the phone. */
export function isOnPhone({ messages: [first] }: Conversation): boolean {
  return first?.role === 'system' && /on the phone/.test(first.content)
}

/** Rewrites order ids and prices the way people say them. */
export function aloud(text: string): string {
  return text
    .replace(/\border ORD-/g, 'order ')
    .replace(/(?<=^|\. +|\n- )ORD-/g, 'Order ')
    .replace(/\bORD-/g, 'order ')
    .replace(/€(\d+)\.(\d\d)/g, (_, euros: string, cents: string) =>
      cents === '00' ? `${euros} euros` : `${euros} euros ${cents}`,
    )
}
