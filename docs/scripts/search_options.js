// An option is found as it is written. To the theme's search, a dash before a word means "without this word".
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  if (typeof message?.data === "string") {
    message = { ...message, data: message.data.replace(/(^|\s)--(?=\w)/g, "$1") };
  }
  return post.call(this, message, ...rest);
};
