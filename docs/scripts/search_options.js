// An option is found as it is written, and while it is written. To the theme's search, a dash before a word means
// "without this word", and one after it is a mistake.
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  if (typeof message?.data === "string") {
    message = { ...message, data: message.data.replace(/(?<!\S)--(?=\w)|-+(?!\S)/g, "") };
  }
  return post.call(this, message, ...rest);
};
