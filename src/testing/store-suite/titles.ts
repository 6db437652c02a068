import assert from 'node:assert/strict'
import type { Entry } from '../../protocol/index.ts'
import type { Cases } from './scene.ts'
import { claimed, infoOf, ownedThread, said, word } from './scene.ts'

export const titleCases: Cases = {
  'a thread is called after the first thing that was said in it': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    assert.ok(!('title' in ((await store.get('t')) ?? {})), 'there is no title before')
    await store.signal('t', undefined, { type: 'stop', reason: 'nothing is said by that' })
    assert.equal((await store.get('t'))?.title, undefined)
    await store.signal('t', 'key', said('  Where\n is my order?'))
    assert.equal((await other.get('t'))?.title, 'Where is my order?')
    await other.signal('t', 'key', said('Where is my order?'))
    await other.signal('t', undefined, said('Are you there?'))
    const lease = await claimed(store, 't', 'worker')
    await store.append([{ lease, events: [said('Hello?')] }])
    assert.equal((await other.get('t'))?.title, 'Where is my order?')
    const [listed] = (await other.list({ limit: 1 })).threads
    assert.deepEqual(listed, await infoOf(store, 't'))
  },

  'a title comes with what an owner writes, too': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', undefined, { type: 'stop', reason: 'to be claimed' })
    const lease = await claimed(store, 't', 'worker')
    const correct = { ...said('That was no JSON.'), mode: 'correct' } as const
    await store.append([{ lease, events: [word('x'), correct] }])
    assert.equal((await other.get('t'))?.title, undefined)
    await store.append([{ lease, events: [word('x'), said('First'), said('Second')] }])
    assert.equal((await other.get('t'))?.title, 'First')
  },

  'a thread that begins with entries is called after them': async ({ store, other }) => {
    const log: Entry[] = [said('First'), said('Second')].map((event, index) => ({
      seq: index + 1,
      at: 1000,
      event,
    }))
    await store.create({ id: 't', agent: 'a' }, { entries: log })
    assert.equal((await other.get('t'))?.title, 'First')
    await other.signal('t', undefined, said('Third'))
    assert.equal((await store.get('t'))?.title, 'First')
  },

  'a title is kept to the letter, and cut where it is long': async ({ store, other }) => {
    const titles = [
      '"quoted"',
      "it's 100% _x_",
      'a\0b',
      'lone \ud83d',
      'lone \ud83e',
      'é e\u0301',
      '{"type":"input"}',
    ]
    for (const [index, title] of titles.entries()) {
      await store.create({ id: `t${index}`, agent: 'a' })
      await store.signal(`t${index}`, undefined, said(title))
      assert.equal((await other.get(`t${index}`))?.title, title)
    }
    await store.create({ id: 'long', agent: 'a' })
    await store.signal('long', undefined, said(`${'x'.repeat(118)}😀😀 and more`))
    assert.equal((await other.get('long'))?.title, `${'x'.repeat(118)}…`)
  },

  'a thread that was made anew has forgotten its title': async ({ store, other }) => {
    await ownedThread(store, 't')
    await other.delete('t')
    await store.create({ id: 't', agent: 'a' })
    assert.equal((await store.get('t'))?.title, undefined)
    assert.deepEqual((await store.list({ limit: 1, search: 'hello' })).threads, [])
    await store.signal('t', undefined, said('anew'))
    assert.equal((await other.get('t'))?.title, 'anew')
    assert.equal((await other.list({ limit: 1, search: 'anew' })).threads.length, 1)
  },
}
