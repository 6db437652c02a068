import { crc32, deflateSync } from 'node:zlib'
import type { ProviderSimulator } from '@millrace/simulator'
import type { Model } from 'millrace'
import { agent, tool } from 'millrace'
import type { Locator, Page } from 'playwright-core'
import { z } from 'zod'

/** An agent whose sub-agent needs approval to pay. */
export function bossWithClerk(model: Model) {
  const input = z.object({ amount: z.number() })
  const pay = tool({ name: 'pay', description: 'p', input, approve: true, run: () => 'paid' })
  const clerk = agent({ name: 'clerk', model, tools: [pay] })
  return { boss: agent({ model, tools: [clerk.asTool({ description: 'Handles money' })] }) }
}

/** Actions and locators of the chat. */
export function chatOf(page: Page) {
  const message = page.getByRole('textbox', { name: 'Message' })
  const conversation = page.locator('.chat-conversation')
  return {
    message,
    conversation,
    async say(text: string) {
      await message.fill(text)
      await message.press('Enter')
    },
    rows: (kind: 'input' | 'text' | 'reasoning' | 'call' | 'notice' | 'end'): Locator =>
      conversation.locator(`.chat-row[data-kind="${kind}"]`),
    card: (name: string): Locator => conversation.getByRole('article', { name: `Tool ${name}` }),
    /** Opens a call that is folded into a line. */
    async open(name: string): Promise<Locator> {
      const card = conversation.getByRole('article', { name: `Tool ${name}` })
      await card.locator('.chat-fold').first().click()
      return card
    },
    button: (name: string): Locator => page.getByRole('button', { name, exact: true }),
    /** Resolves when `count` runs have ended. */
    ends: (count: number) =>
      conversation
        .locator('.chat-row[data-kind="end"]')
        .nth(count - 1)
        .waitFor(),
    /** What is announced to screen readers. */
    announced: () => page.locator('[aria-live="polite"]').textContent(),
    threadId: () => new URL(page.url()).hash.replace('#/threads/', ''),
  }
}

/** The body of a request to the model as text; the first is number 1. */
export function sent({ requests }: ProviderSimulator, number: number): string {
  return JSON.stringify(requests[number - 1]?.body ?? null)
}

/** A valid image of one color. */
export function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2], 8)
  const pixels = Buffer.alloc((1 + width * 3) * height, 0x5a)
  for (let row = 0; row < height; row++) pixels[row * (1 + width * 3)] = 0
  const chunks = [chunk('IHDR', header), chunk('IDAT', deflateSync(pixels)), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...chunks])
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
