import { expect, test } from 'vitest'
import { chatOf, png, sent } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage } from './page.test-kit.ts'

describePage('the composer', (visit) => {
  test('an image is sent to the model unchanged, with the text', async () => {
    const desk = await openDesk({ script: ['A gray square.'] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    const image = png(20, 10)
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: image })
    await page.getByRole('img', { name: 'Attached image 1' }).waitFor()
    await chat.say('What is this?')
    await chat.ends(1)
    expect(sent(desk.provider, 1)).toContain(`data:image/png;base64,${image.toString('base64')}`)
    expect(sent(desk.provider, 1)).toContain('What is this?')
    const shown = chat.rows('input').getByRole('img')
    expect(await shown.evaluate((img: HTMLImageElement) => [img.naturalWidth, img.naturalHeight])).toEqual([
      20, 10,
    ])
    expect(await page.locator('.chat-composer').getByRole('img').count()).toBe(0)
  })

  test('a large image is shrunk first', async () => {
    const desk = await openDesk({ script: ['Big.'] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    const buffer = png(3136, 784)
    await page.locator('input[type=file]').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer })
    const attached = page.getByRole('img', { name: 'Attached image 1' })
    await attached.waitFor()
    await expect
      .poll(() => attached.evaluate((img: HTMLImageElement) => [img.naturalWidth, img.naturalHeight]))
      .toEqual([1568, 392])
    await chat.say('Big?')
    await chat.ends(1)
    expect(sent(desk.provider, 1)).toContain('data:image/webp;base64,')
  })

  test('an image can be pasted and removed', async () => {
    const desk = await openDesk({ script: ['Hm.'] })
    const page = await visit(desk.url)
    const data = png(4, 4).toString('base64')
    await chatOf(page).message.evaluate((box, given) => {
      const clipboardData = new DataTransfer()
      const bytes = Uint8Array.from(atob(given), (char) => char.charCodeAt(0))
      clipboardData.items.add(new File([bytes], 'a.png', { type: 'image/png' }))
      box.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    }, data)
    await page.getByRole('img', { name: 'Attached image 1' }).waitFor()
    await page.getByRole('button', { name: 'Remove attachment 1' }).click()
    await expect.poll(() => page.getByRole('img', { name: 'Attached image 1' }).count()).toBe(0)
  })

  test('an image can be dropped and sent without text', async () => {
    const desk = await openDesk({ script: ['A square.'] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    const data = png(4, 4).toString('base64')
    const left = await page.locator('.chat-composer').evaluate((composer, given) => {
      const dataTransfer = new DataTransfer()
      const bytes = Uint8Array.from(atob(given), (char) => char.charCodeAt(0))
      dataTransfer.items.add(new File([bytes], 'a.png', { type: 'image/png' }))
      const events = ['dragover', 'drop'].map(
        (type) => new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }),
      )
      return events.map((event) => composer.dispatchEvent(event))
    }, data)
    // Otherwise the browser would open the image instead of the page.
    expect(left).toEqual([false, false])
    await page.getByRole('img', { name: 'Attached image 1' }).waitFor()
    await chat.button('Send').click()
    await chat.ends(1)
    expect(sent(desk.provider, 1)).toContain(`data:image/png;base64,${data}`)
  })

  test('a file that is not an image is rejected with a message', async () => {
    const desk = await openDesk({ script: ['Hm.'] })
    const page = await visit(desk.url)
    const buffer = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
    await page.locator('input[type=file]').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer })
    await page.getByRole('alert').getByText('Only PNG, JPEG, GIF and WebP').waitFor()
    expect(await page.getByRole('img', { name: /Attached/ }).count()).toBe(0)
  })

  test('each thread keeps its draft, with images, across a reload', async () => {
    const desk = await openDesk({ script: ['Hello.'] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Hi')
    await chat.ends(1)
    await chat.message.fill('Half a sent')
    const buffer = png(4, 4)
    await page.locator('input[type=file]').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer })
    await page.getByRole('img', { name: 'Attached image 1' }).waitFor()
    await page.reload()
    await expect.poll(() => chat.message.inputValue()).toBe('Half a sent')
    await page.getByRole('img', { name: 'Attached image 1' }).waitFor()
    await page.evaluate(() => {
      location.hash = '#/'
    })
    await expect.poll(() => chat.message.inputValue()).toBe('')
  })

  test('a message that cannot be sent stays, with the reason', async () => {
    const desk = await openDesk({ script: ['Hello.'], app: { limits: { bodyBytes: 2000 } } })
    const page = await visit(desk.url, { tolerates: [/413/] })
    const chat = chatOf(page)
    const long = 'so long '.repeat(400)
    await chat.say(long)
    await page.getByRole('alert').getByText('Not sent').waitFor()
    expect(await chat.message.inputValue()).toBe(long)
    await chat.say('shorter')
    await chat.rows('text').getByText('Hello.').waitFor()
    expect(await chat.rows('input').count()).toBe(1)
  })

  test('Enter sends, Shift+Enter adds a line, / focuses, Escape leaves', async () => {
    const desk = await openDesk({ script: ['Hello.'] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.message.press('Escape')
    const isThere = () => chat.message.evaluate((box) => box === document.activeElement)
    expect(await isThere()).toBe(false)
    await page.keyboard.press('/')
    expect(await isThere()).toBe(true)
    await page.keyboard.type('one')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('two')
    expect(await chat.message.inputValue()).toBe('one\ntwo')
    await page.keyboard.press('Control+Enter')
    await chat.ends(1)
    expect(await chat.rows('input').textContent()).toContain('one\ntwo')
    await page.keyboard.press('Escape')
    await page.keyboard.press('k')
    await page.keyboard.press('k')
    await page.keyboard.press('j')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('data-kind'))).toBe('end')
  })

  test('a deleted thread cannot be written to, and the page says so', async () => {
    const desk = await openDesk({ script: ['Hello.'] })
    // The page may find out when it connects.
    const page = await visit(desk.url, { tolerates: [/404/] })
    const chat = chatOf(page)
    await chat.say('Hi')
    await chat.ends(1)
    await desk.app.thread(chat.threadId()).delete()
    await page.getByText(/This thread was deleted|This thread doesn't exist/).waitFor()
    expect(await chat.message.isDisabled()).toBe(true)
    // What was read stays, but nothing of it can be changed.
    await chat.rows('text').getByText('Hello.').waitFor()
    expect(
      await page.getByRole('button', { name: /Edit message|Retry|Fork|answer$/ }).allTextContents(),
    ).toEqual([''])
  })

  test('a long message is folded, and can be shown', async () => {
    const desk = await openDesk({ script: ['Read.'] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    const lines = Array.from({ length: 100 }, (_, index) => `line ${index}`)
    await chat.message.fill(lines.join('\n'))
    await chat.button('Send').click()
    await chat.ends(1)
    const row = chat.rows('input')
    await row.getByText('line 19').waitFor()
    expect(await row.getByText('line 20').count()).toBe(0)
    await row.getByRole('button', { name: 'Show all (789 B)' }).click()
    await row.getByText('line 99').waitFor()
    await row.getByRole('button', { name: 'Show less' }).click()
    expect(await row.getByText('line 20').count()).toBe(0)
  })

  test('an unknown thread is reported, with a button for a new one', async () => {
    const desk = await openDesk({ script: ['Hello.'] })
    const page = await visit(`${desk.url}/#/threads/unknown`, { tolerates: [/404/] })
    const chat = chatOf(page)
    await page.getByText("This thread doesn't exist or was deleted.").waitFor()
    await chat.button('Start a new one').click()
    await chat.say('Hi')
    await chat.rows('text').getByText('Hello.').waitFor()
  })
})
